"""`asrbatch score`: results against references."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from asrbatch.cli.exits import exit_codes, set_up_logging


def score(
    results: Annotated[Path, typer.Argument(help="What transcribe --out wrote.")],
    ref: Annotated[
        Path,
        typer.Option(
            help="What was said: a table with tabs (file, text), a manifest with text, or a folder of .txt."
        ),
    ],
    normalizer: Annotated[
        str, typer.Option(help="Whisper's english or basic, none, or auto: by the language.")
    ] = "auto",
    missing: Annotated[
        str,
        typer.Option(
            help="References without a result: refuse, skip, or empty: all words deleted."
        ),
    ] = "refuse",
    worst: Annotated[int, typer.Option(min=0, help="Files to show word by word.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write a page with every word.")] = None,
) -> None:
    """Count the errors of results: WER and CER by file and over all, sum over sum."""
    with exit_codes():
        set_up_logging(quiet=False, verbose=0)
        from asrbatch.score import score_results  # noqa: PLC0415  (numpy, kept out of --help)

        found = score_results(results, ref, normaliser=normalizer, missing=missing)
        if html is not None:
            from asrbatch.jsonl import write_atomically  # noqa: PLC0415
            from asrbatch.score.html import score_page  # noqa: PLC0415

            write_atomically(html, [score_page(found).encode()])
    if as_json:
        import orjson  # noqa: PLC0415

        typer.echo(orjson.dumps(found.to_dict(), option=orjson.OPT_INDENT_2).decode())
        return
    from rich.console import Console  # noqa: PLC0415

    from asrbatch.score.show import print_score  # noqa: PLC0415

    print_score(found, worst, Console(markup=False, emoji=False, highlight=False))
