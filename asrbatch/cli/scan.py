"""`asrbatch scan`."""

from __future__ import annotations

from typing import Annotated

import typer

from asrbatch.cli import flags
from asrbatch.cli.exits import exit_codes, set_up_logging


def scan(
    inputs: flags.Inputs = None,
    out: Annotated[
        str, typer.Option("--out", "-o", help="Results of earlier runs, for the estimate.")
    ] = "results.jsonl",
    manifest: flags.Manifest = None,
    include: flags.Include = None,
    exclude: flags.Exclude = None,
    ext: flags.Ext = None,
    recursive: flags.Recursive = True,
    raw_format: flags.RawFormat = None,
    chunk_seconds: flags.ChunkSeconds = 30.0,
    batch_seconds: flags.BatchSeconds = 3600.0,
    batch_count: flags.BatchCount = 512,
    padding_ratio: flags.PaddingRatio = 1.2,
    workers: flags.Workers = None,
    rtfx: Annotated[
        float | None,
        typer.Option(help="Audio seconds a second to estimate with.  [default: of the last run]"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
    verbose: flags.Verbose = 0,
) -> None:
    """Show what a run would do: files, hours, codecs, batches, and how long it would take."""
    values = locals()
    shown = {"inputs", "out", "rtfx", "as_json", "verbose"}
    options = {name: value for name, value in values.items() if name not in shown}
    with exit_codes():
        stderr = set_up_logging(quiet=False, verbose=verbose)
        from asrbatch.report import print_plan  # noqa: PLC0415

        print_plan(flags.to_config(inputs, options), out, rtfx, stderr, as_json=as_json)
