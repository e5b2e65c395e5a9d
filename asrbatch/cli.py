"""The command line: flags to options, errors to exit codes; nothing heavy until work begins."""

from __future__ import annotations

import logging
import sys
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

import asrbatch
from asrbatch import flags
from asrbatch.errors import (
    AsrBatchError,
    ConfigError,
    EngineError,
    LockedError,
    OutputError,
    WorkerError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from asrbatch.data import Transcript
    from asrbatch.pipeline import Run, RunConfig

EXIT_OK, EXIT_SOME_FAILED, EXIT_USAGE, EXIT_ENGINE, EXIT_LOCKED = 0, 1, 2, 3, 75

EXIT_CODES: tuple[tuple[type[AsrBatchError], int], ...] = (
    (ConfigError, EXIT_USAGE),
    (LockedError, EXIT_LOCKED),
    (EngineError, EXIT_ENGINE),
    (WorkerError, EXIT_ENGINE),
    (OutputError, EXIT_ENGINE),
)

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


@app.callback(invoke_without_command=True)
def _main(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Transcribe folders of audio in batches."""
    if version:
        typer.echo(f"asrbatch {asrbatch.__version__}")
        raise typer.Exit


@app.command()
def transcribe(
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
        str | None, typer.Option(help="Names and words to expect, given to the model as context.")
    ] = None,
    engine: Annotated[
        str, typer.Option(help="auto, vllm, ctranslate2, or null to measure the rest.")
    ] = "auto",
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Folder, hub name, or a size such as small.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="float32, float16, bfloat16, int8 ...")] = "auto",
    chunk_seconds: flags.ChunkSeconds = 30.0,
    batch_seconds: flags.BatchSeconds = 3600.0,
    batch_count: flags.BatchCount = 512,
    padding_ratio: flags.PaddingRatio = 1.2,
    workers: flags.Workers = None,
    batch_size: Annotated[int, typer.Option(help="ctranslate2: segments at a time.")] = 8,
    cpu_threads: Annotated[int, typer.Option(help="ctranslate2: threads; 0 is all cores.")] = 0,
    short_windows: Annotated[
        bool | None,
        typer.Option(
            "--short-windows/--full-windows",
            help="ctranslate2: encode short segments as they are, or padded to 30 s.  "
            "[default: short with tiny.en, which is shown to do no harm]",
        ),
    ] = None,
    max_num_seqs: Annotated[
        int, typer.Option("--max-num-seqs", "--concurrency", help="vllm: segments at a time.")
    ] = 256,
    max_model_len: Annotated[
        int | None, typer.Option(help="vllm: tokens of prompt and answer.  [default: 4096]")
    ] = None,
    max_new_tokens: Annotated[
        int | None,
        typer.Option(help="Tokens a segment may take at most; its duration also limits."),
    ] = None,
    gpu_memory_utilization: Annotated[float, typer.Option(help="vllm: share of the memory.")] = 0.9,
    tensor_parallel_size: Annotated[int, typer.Option(help="vllm: GPUs for one model.")] = 1,
    enforce_eager: Annotated[bool, typer.Option(help="vllm: without CUDA graphs.")] = False,
    cache: Annotated[
        bool,
        typer.Option(help="Know again what any run has heard.", envvar="ASRBATCH_CACHE"),
    ] = True,
    fail_fast: Annotated[bool, typer.Option(help="Stop at the first failure.")] = False,
    progress: Annotated[bool, typer.Option(help="Show a progress bar on a terminal.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only warnings and errors.")] = False,
    verbose: flags.Verbose = 0,
) -> None:
    """Transcribe files, folders, globs and manifests to a JSONL file.

    Running the same command again goes on where it stopped: what is done is skipped, what failed
    is tried again. Exit code: 0 all done, 1 some files failed, 2 wrong usage, 3 the engine or the
    output failed, 75 another run writes to the same file, 130 or 143 interrupted.
    """
    values = locals()
    shown = {"inputs", "out", "progress", "quiet", "verbose"}
    options = {name: value for name, value in values.items() if name not in shown}
    with _exit_codes():
        stderr = _set_up_logging(quiet=quiet, verbose=verbose)
        from asrbatch.pipeline import Run  # noqa: PLC0415  (numpy, kept out of --help)

        config = _config(inputs, options | {"out": None if out == "-" else out})
        run = Run(config)
        code = _transcribe(run, stderr, to_stdout=out == "-", progress=progress and not quiet)
        if not quiet:
            from asrbatch.console import run_table  # noqa: PLC0415

            stderr.print(run_table(run.stats))
    raise typer.Exit(code)


@app.command()
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
    with _exit_codes():
        stderr = _set_up_logging(quiet=False, verbose=verbose)
        from asrbatch.report import print_plan  # noqa: PLC0415

        print_plan(_config(inputs, options), out, rtfx, stderr, as_json=as_json)


def _config(inputs: list[str] | None, options: dict[str, Any]) -> RunConfig:
    from asrbatch.options import Options, build_config  # noqa: PLC0415

    if not inputs and not options["manifest"]:
        msg = "inputs: none is given; name files, folders, globs or manifests"
        raise ConfigError(msg)
    return build_config(inputs or [], Options(**options))  # type: ignore[typeddict-item]


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


@contextmanager
def _exit_codes() -> Iterator[None]:
    """Turn errors raised on purpose into one clear line and an exit code."""
    try:
        yield
    except AsrBatchError as error:
        code = next(code for kind, code in EXIT_CODES if isinstance(error, kind))
        typer.echo(f"asrbatch: {error}", err=True)
        raise typer.Exit(code) from None


def _set_up_logging(*, quiet: bool, verbose: int) -> Console:
    """Log lines to standard error; through rich on a terminal, so that the bar stays whole."""
    from rich.console import Console  # noqa: PLC0415
    from rich.logging import RichHandler  # noqa: PLC0415

    stderr = Console(stderr=True, markup=False, emoji=False, highlight=False)
    handler: logging.Handler
    if stderr.is_terminal:
        handler = RichHandler(console=stderr, show_path=False, show_time=False, markup=False)
        handler.setFormatter(logging.Formatter("%(message)s"))
    else:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    level = logging.WARNING if quiet else logging.DEBUG if verbose else logging.INFO
    logging.basicConfig(handlers=[handler], level=logging.DEBUG if verbose > 1 else logging.WARNING)
    logging.getLogger("asrbatch").setLevel(level)
    if verbose < 2:
        warnings.simplefilter("ignore")  # deprecations inside vLLM and transformers
    return stderr


def main() -> NoReturn:
    """Entry point of the `asrbatch` command."""
    app()
    raise SystemExit(EXIT_OK)


if __name__ == "__main__":
    main()
