"""`asrbatch export`: results in the formats of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from asrbatch.cli.exits import exit_codes, set_up_logging


def export(
    results: Annotated[Path, typer.Argument(help="What transcribe --out wrote.")],
    output_dir: Annotated[
        Path, typer.Option("--output-dir", "-o", help="Folder that mirrors the recordings' tree.")
    ],
    formats: Annotated[
        str,
        typer.Option(
            "--format", "-f", help="One or more of srt,vtt,txt,tsv,ctm,textgrid,json,lhotse."
        ),
    ] = "srt",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
) -> None:
    """Write subtitles, texts or annotations, one file for each recording and format."""
    with exit_codes():
        set_up_logging(quiet=False, verbose=0)
        from asrbatch.export import export_results  # noqa: PLC0415  (kept out of --help)

        count = export_results(results, formats, output_dir, overwrite=overwrite)
    typer.echo(f"{count} files in {output_dir}", err=True)
