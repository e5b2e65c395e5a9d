"""`asrbatch transcribe`."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from asrbatch.cli import flags
from asrbatch.cli.exits import EXIT_OK, EXIT_SOME_FAILED, exit_codes, set_up_logging
from asrbatch.errors import OutputError

if TYPE_CHECKING:
    from rich.console import Console

    from asrbatch.data import Transcript
    from asrbatch.pipeline import Run


def transcribe(
    ctx: typer.Context,
    inputs: flags.Inputs = None,
    out: Annotated[
        str,
        typer.Option("--out", "-o", help="Results, one line a recording; - is standard output."),
    ] = "results.jsonl",
    overwrite: Annotated[
        bool, typer.Option("--overwrite/--skip-existing", help="Start anew, or go on.")
    ] = False,
    manifest: flags.Manifest = None,
    include: flags.Include = None,
    exclude: flags.Exclude = None,
    ext: flags.Ext = None,
    recursive: flags.Recursive = True,
    raw_format: flags.RawFormat = None,
    language: Annotated[
        str | None,
        typer.Option("--language", "-l", help="Code or name; auto lets the model decide."),
    ] = None,
    context: Annotated[
        str | None, typer.Option(help="What it is about, given to the model as context.")
    ] = None,
    context_file: Annotated[
        str | None, typer.Option(help="A text file with more of the context.")
    ] = None,
    hotwords: Annotated[
        str | None, typer.Option(help="Names and words to expect, with commas between.")
    ] = None,
    engine: flags.Engine = "auto",
    model: flags.Model = None,
    dtype: flags.Dtype = "auto",
    channels: flags.Channels = "mix",
    session_by_folder: Annotated[
        bool, typer.Option(help="The recordings of a folder become one transcript.")
    ] = False,
    chunk_seconds: flags.ChunkSeconds = 30.0,
    vad: flags.Vad = True,
    vad_threshold: flags.VadThreshold = 0.5,
    min_silence: flags.MinSilence = 2.0,
    max_retries: flags.MaxRetries = 2,
    timestamps: Annotated[
        str, typer.Option(help="none, segment, or word: when each word was said, too.")
    ] = "segment",
    aligner: Annotated[
        str | None,
        typer.Option(
            help="vllm: the model that finds words.  [default: Qwen/Qwen3-ForcedAligner-0.6B]"
        ),
    ] = None,
    batch_seconds: flags.BatchSeconds = 3600.0,
    batch_count: flags.BatchCount = 512,
    padding_ratio: flags.PaddingRatio = 1.2,
    workers: flags.Workers = None,
    batch_size: flags.BatchSize = 8,
    cpu_threads: flags.CpuThreads = 0,
    short_windows: flags.ShortWindows = None,
    max_num_seqs: flags.MaxNumSeqs = None,
    max_model_len: flags.MaxModelLen = None,
    max_new_tokens: flags.MaxNewTokens = None,
    gpu_memory_utilization: flags.GpuMemoryUtilization = 0.9,
    tensor_parallel_size: flags.TensorParallelSize = 1,
    enforce_eager: flags.EnforceEager = False,
    cache: Annotated[
        bool,
        typer.Option(help="Know again what any run has heard.", envvar="ASRBATCH_CACHE"),
    ] = True,
    feature_cache: flags.FeatureCache = None,
    feature_cache_gb: flags.FeatureCacheGb = 20.0,
    feature_memory_gb: flags.FeatureMemoryGb = 0.5,
    config: flags.Config = None,
    fail_fast: Annotated[bool, typer.Option(help="Stop at the first failure.")] = False,
    progress: Annotated[bool, typer.Option(help="Show a progress bar on a terminal.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only warnings and errors.")] = False,
    verbose: flags.Verbose = 0,
) -> None:
    """Transcribe files, folders, globs and manifests to a JSONL file.

    Running the same command again goes on where it stopped: what is done is skipped, what failed
    is tried again. Exit code: 0 all done, 1 some files failed, 2 wrong usage, 3 the engine or the
    output failed, 75 another run writes to the same file, 130 or 143 interrupted.
    Every other setting of vLLM is an option under its own name, such as --kv-cache-dtype fp8.
    """
    values = locals()
    shown = {"ctx", "inputs", "config", "out", "progress", "quiet", "verbose"}
    options = {name: value for name, value in values.items() if name not in shown} | ctx.obj
    with exit_codes():
        stderr = set_up_logging(quiet=quiet, verbose=verbose)
        from asrbatch.pipeline import Run  # noqa: PLC0415  (numpy, kept out of --help)

        run_config = flags.to_config(inputs, options | {"out": None if out == "-" else out})
        run = Run(run_config)
        code = _transcribe(run, stderr, to_stdout=out == "-", progress=progress and not quiet)
        if not quiet:
            from asrbatch.console import run_table  # noqa: PLC0415

            stderr.print(run_table(run.stats))
    raise typer.Exit(code)


def _transcribe(run: Run, stderr: Console, *, to_stdout: bool, progress: bool) -> int:
    """Do the work; the exit code."""
    from asrbatch.console import reporter  # noqa: PLC0415
    from asrbatch.data import Transcript  # noqa: PLC0415
    from asrbatch.signals import stop_on_signals  # noqa: PLC0415

    logging.getLogger("asrbatch").info(
        "%s, %s%s", run.spec.engine, run.spec.name, f" ({run.spec.note})" if run.spec.note else ""
    )
    with (
        stop_on_signals(run.stop) as received,
        reporter(run.stats, stderr, progress=progress) as show,
    ):
        for item in run:
            if to_stdout and isinstance(item, Transcript):
                _print_line(item)
            show(item)
    if received:
        return 128 + received[0]
    return EXIT_SOME_FAILED if run.stats.failed else EXIT_OK


def _print_line(transcript: Transcript) -> None:
    """Write one result to standard output at once."""
    import orjson  # noqa: PLC0415

    if sys.stdout is None:
        msg = "out: standard output is closed; name a file with --out"
        raise OutputError(msg)
    try:
        sys.stdout.buffer.write(orjson.dumps(transcript) + b"\n")
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise  # whoever reads has had enough; click ends the program quietly
    except OSError as error:
        msg = f"out: standard output cannot be written: {error.strerror}; make room"
        raise OutputError(msg) from error
