"""The command line: flags to options, errors to exit codes; nothing heavy until work begins."""

from __future__ import annotations

from typing import Annotated, NoReturn

import typer

import asrbatch
from asrbatch.cli import cache
from asrbatch.cli.bench import bench
from asrbatch.cli.export import export
from asrbatch.cli.scan import scan
from asrbatch.cli.score import score
from asrbatch.cli.transcribe import transcribe
from asrbatch.cli.vllm_flags import VllmCommand

app = typer.Typer(
    name="asrbatch",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={
        "help_option_names": ["-h", "--help"],
        # --chunk_seconds is --chunk-seconds: half of the field's tools write it so.
        "token_normalize_func": lambda token: token.replace("_", "-"),
    },
)
app.command(cls=VllmCommand)(transcribe)
app.command()(scan)
app.command(cls=VllmCommand)(bench)
app.command()(score)
app.command()(export)
app.add_typer(cache.app, name="cache")


@app.callback(invoke_without_command=True)
def _main(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Transcribe folders of audio in batches."""
    if version:
        typer.echo(f"asrbatch {asrbatch.__version__}")
        raise typer.Exit


def main() -> NoReturn:
    """Entry point of the `asrbatch` command."""
    app()
    raise SystemExit(0)
