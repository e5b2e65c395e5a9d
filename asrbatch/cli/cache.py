"""`asrbatch cache`: fill, look into and shorten what runs keep for each other."""

from __future__ import annotations

from typing import Annotated

import typer

from asrbatch.cli import flags
from asrbatch.cli.exits import EXIT_SOME_FAILED, exit_codes, set_up_logging

app = typer.Typer(
    no_args_is_help=True,
    help="Fill, look into and shorten what runs keep for each other.",
    rich_markup_mode=None,
)


@app.command()
def warm(
    inputs: flags.Inputs = None,
    feature_cache: flags.FeatureCache = None,
    feature_cache_gb: flags.FeatureCacheGb = 20.0,
    manifest: flags.Manifest = None,
    include: flags.Include = None,
    exclude: flags.Exclude = None,
    ext: flags.Ext = None,
    recursive: flags.Recursive = True,
    raw_format: flags.RawFormat = None,
    engine: flags.Engine = "auto",
    model: flags.Model = None,
    channels: flags.Channels = "mix",
    chunk_seconds: flags.ChunkSeconds = 30.0,
    vad: flags.Vad = True,
    vad_threshold: flags.VadThreshold = 0.5,
    min_silence: flags.MinSilence = 2.0,
    workers: flags.Workers = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only warnings and errors.")] = False,
    verbose: flags.Verbose = 0,
) -> None:
    """Decode recordings and keep the features of a model, without loading it.

    Runs with the same --feature-cache, --model and --chunk-seconds find them. --engine null keeps
    what Qwen3-ASR takes, on a machine that does not have it. Exit code 1: some files failed.
    """
    values = locals()
    shown = {"inputs", "quiet", "verbose"}
    options = {name: value for name, value in values.items() if name not in shown}
    with exit_codes():
        stderr = set_up_logging(quiet=quiet, verbose=verbose)
        from asrbatch.caches import warm_features  # noqa: PLC0415  (numpy, kept out of --help)
        from asrbatch.console import run_table  # noqa: PLC0415

        stats = warm_features(flags.to_config(inputs, options))
        if not quiet:
            stderr.print(run_table(stats))
    if stats.failed:
        raise typer.Exit(EXIT_SOME_FAILED)


@app.command()
def info(
    feature_cache: flags.FeatureCache = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Show how much is kept, and where."""
    with exit_codes():
        from asrbatch.caches import cache_infos  # noqa: PLC0415

        infos = cache_infos(feature_cache)
    if as_json:
        import orjson  # noqa: PLC0415

        typer.echo(orjson.dumps(infos, option=orjson.OPT_INDENT_2).decode())
        return
    for name, one in infos.items():
        typer.echo(
            f"{name}: {one['entries']} recordings, {one['num_bytes'] / 1e6:.1f} MB in {one['path']}"
        )


@app.command()
def prune(
    feature_cache: flags.FeatureCache = None,
    feature_cache_gb: flags.FeatureCacheGb = 20.0,
    keep_results: Annotated[
        int | None, typer.Option(help="Transcripts to keep; 0 deletes all.  [default: all]")
    ] = None,
) -> None:
    """Delete what was not used for longest, until no more is left than is wanted."""
    with exit_codes():
        from asrbatch.caches import prune_caches  # noqa: PLC0415

        deleted = prune_caches(feature_cache, feature_cache_gb, keep_results)
    for name, count in deleted.items():
        typer.echo(f"{name}: {count} recordings deleted")
