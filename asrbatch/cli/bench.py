"""`asrbatch bench`."""

from __future__ import annotations

import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from asrbatch.cli import flags
from asrbatch.cli.exits import EXIT_SOME_FAILED, exit_codes, set_up_logging
from asrbatch.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator


def bench(
    ctx: typer.Context,
    inputs: flags.Inputs = None,
    lengths: Annotated[
        str,
        typer.Option(
            help="Without inputs, speech-like audio of these lengths is made: fixed:SECONDS, "
            "uniform:FROM,TO or lognormal:MEDIAN,SIGMA."
        ),
    ] = "uniform:1,30",
    clips: Annotated[int, typer.Option(help="How many of them.")] = 256,
    random_weights: Annotated[
        str | None,
        typer.Option(
            help="qwen3-asr-0.6b or qwen3-asr-1.7b: measure this model without its weights."
        ),
    ] = None,
    runs: Annotated[int, typer.Option(help="Runs that count; the median is told.")] = 3,
    compare: Annotated[
        str | None,
        typer.Option(help="serial, generate or both with a comma: simpler ways to do the same."),
    ] = None,
    sweep: Annotated[
        str | None, typer.Option(help="Numbers of segments at a time, such as 32,64,128,256,512.")
    ] = None,
    save_config: Annotated[
        Path | None, typer.Option(help="Write the best of the sweep there, for --config.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw throughput and latency, a PNG.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    engine: flags.Engine = "auto",
    model: flags.Model = None,
    dtype: flags.Dtype = "auto",
    chunk_seconds: flags.ChunkSeconds = 30.0,
    vad: Annotated[
        bool | None,
        typer.Option(
            "--vad/--no-vad",
            help="Look for speech.  [default: only in given audio; what is made here is none]",
        ),
    ] = None,
    vad_threshold: flags.VadThreshold = 0.5,
    min_silence: flags.MinSilence = 2.0,
    batch_seconds: flags.BatchSeconds = 3600.0,
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
    feature_cache: flags.FeatureCache = None,
    feature_cache_gb: flags.FeatureCacheGb = 20.0,
    feature_memory_gb: flags.FeatureMemoryGb = 0.5,
    config: flags.Config = None,
    verbose: flags.Verbose = 0,
) -> None:
    """Measure throughput, latency, memory and where the time goes.

    The model is loaded and warmed up first; neither counts. Exit codes, and vLLM's own options,
    are those of transcribe.
    """
    values = locals()
    own = {
        "ctx",
        "random_weights",
        "inputs",
        "lengths",
        "clips",
        "runs",
        "compare",
        "sweep",
        "save_config",
        "plot",
    }
    shown = own | {"as_json", "config", "verbose"}
    options = {name: value for name, value in values.items() if name not in shown} | ctx.obj
    with exit_codes():
        stderr = set_up_logging(quiet=False, verbose=verbose)
        if save_config is not None and sweep is None:
            msg = "save config: there is no sweep to choose from; give --sweep 32,64,128"
            raise ConfigError(msg)
        with _workload(inputs, lengths, clips) as (found, workload), _random(random_weights) as r:
            from asrbatch import bench as benches  # noqa: PLC0415  (numpy, kept out of --help)

            options = benches.merge_options(options, r)
            options["max_retries"] = 0  # the same work in each run
            options["vad"] = bool(inputs) if vad is None else vad
            work = benches.Work(found, options, workload, runs, _split(compare))
            if sweep is None:
                results = [benches.bench(work)]
                table = benches.bench_table(results[0])
            else:
                results = benches.sweep(benches.parse_sweep(sweep), work)
                table = benches.sweep_table(results)
            if save_config is not None:
                benches.save_knee(results, save_config)
        if plot is not None:
            benches.plot(results, plot)
        if as_json:
            _print_json(results if sweep else results[0])
        else:
            stderr.print(table)
    if any("error" in result or result["failures"] for result in results):
        raise typer.Exit(EXIT_SOME_FAILED)


@contextmanager
def _workload(
    inputs: list[str] | None, lengths: str, clips: int
) -> Iterator[tuple[list[str], str]]:
    """What to transcribe, and what it is; generated audio goes when it is done."""
    from asrbatch.bench import generate_clips, parse_lengths  # noqa: PLC0415

    if inputs:
        yield inputs, "given audio"
        return
    distribution = parse_lengths(lengths)
    if clips < 1:
        msg = f"clips: {clips} is too few; give at least 1"
        raise ConfigError(msg)
    with tempfile.TemporaryDirectory(prefix="asrbatch-bench-") as folder:
        generate_clips(Path(folder), distribution, clips)
        yield [folder], f"{clips} generated clips, {distribution}"


@contextmanager
def _random(name: str | None) -> Iterator[dict[str, Any]]:
    """Options for a model with random weights, which goes when it is done."""
    if name is None:
        yield {}
        return
    from asrbatch.bench import write_random_model  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="asrbatch-bench-") as folder:
        yield write_random_model(Path(folder, f"{name.lower()}-random"), name)


def _split(names: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",")) if names else ()


def _print_json(value: Any) -> None:  # noqa: ANN401
    import orjson  # noqa: PLC0415

    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")
