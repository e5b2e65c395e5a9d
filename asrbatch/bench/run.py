"""The measurement: load, warm up, then several runs of which the median counts."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asrbatch.bench.baselines import BASELINES
from asrbatch.bench.environment import environment, gpus
from asrbatch.bench.memory import cpu_seconds, memory_bytes, peak_memory
from asrbatch.data import SAMPLE_RATE, Failure
from asrbatch.engines import load_engine, resolve_model
from asrbatch.errors import ConfigError
from asrbatch.options import Options, build_config
from asrbatch.pipeline import Run, RunStats, open_pool, prepare, scan_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from asrbatch.data import Hypothesis, Recording, Segment
    from asrbatch.engines import Engine, ModelSpec
    from asrbatch.pipeline import RunConfig

MIN_RUNS = 3

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True, slots=True)
class Work:
    """What to measure."""

    inputs: list[str]
    options: dict[str, Any]
    """Of the run, as `asrbatch.Options` has them."""
    workload: str = "given audio"
    """What the inputs are, in words."""
    runs: int = MIN_RUNS
    """That count; one more before them does not."""
    compare: tuple[str, ...] = ()
    """Baselines that do the same work in the same process, in turns."""

    def __post_init__(self) -> None:
        if self.runs < MIN_RUNS:
            msg = f"runs: {self.runs} is too few for a median; give at least {MIN_RUNS}"
            raise ConfigError(msg)
        unknown = set(self.compare) - BASELINES.keys()
        if unknown:
            msg = (
                f"compare: {', '.join(sorted(unknown))} is not known; choose {', '.join(BASELINES)}"
            )
            raise ConfigError(msg)


def bench(work: Work) -> dict[str, Any]:
    """Measure.

    Returns:
        Plain values; those of a run are of the median one by RTFx.

    Raises:
        ConfigError: There is nothing to transcribe, or a recording cannot be read.
        EngineError: The engine cannot start or go on.
    """
    config = build_config(work.inputs, Options(**work.options))  # type: ignore[typeddict-item]
    spec = resolve_model(config.engine)
    before_bytes = memory_bytes()
    start = time.perf_counter()
    engine = load_engine(spec, config.engine)
    load_s = time.perf_counter() - start
    try:
        with tempfile.TemporaryDirectory() as folder:
            run = replace(config, out=Path(folder, "results.jsonl"), overwrite=True, cache=False)
            start = time.perf_counter()
            _measure(run, engine)
            warm_up_s = time.perf_counter() - start
            engine_bytes = memory_bytes() - before_bytes
            measured, seconds = _take_turns(work, run, spec, engine)
    finally:
        engine.close()
    result = sorted(measured, key=lambda one: float(one["rtfx"]))[len(measured) // 2]
    rtfxs = [one["rtfx"] for one in measured]
    return result | {
        "workload": work.workload,
        "engine": spec.engine,
        "model": spec.name,
        "concurrency": engine.concurrency,
        "runs": len(measured),
        "rtfx_of_each_run": rtfxs,
        "load_s": round(load_s, 3),
        "warm_up_s": round(warm_up_s, 3),
        "engine_memory_bytes": engine_bytes,
        "compare": _ratios(seconds),
        "environment": environment(),
    }


def _take_turns(
    work: Work, run: RunConfig, spec: ModelSpec, engine: Engine
) -> tuple[list[dict[str, Any]], dict[str, list[float]]]:
    """Each run, and the seconds of it and of each baseline."""
    recordings = _recordings(run, spec) if work.compare else []
    measured = []
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for _ in range(work.runs):
        measured.append(_measure(run, engine))
        seconds["asrbatch"].append(measured[-1]["work_s"])
        for name in work.compare:
            seconds[name].append(BASELINES[name](recordings, run, engine))
    return measured, dict(seconds)


def _recordings(run: RunConfig, spec: ModelSpec) -> Sequence[Recording]:
    stats = RunStats()
    with open_pool(run, spec) as pool:
        prepared = prepare(scan_inputs(run, stats), run, stats, pool, lambda: False)
    return [prepared.recordings[i] for i in prepared.plan.recording_order()]


def _measure(config: RunConfig, engine: Engine) -> dict[str, Any]:
    """One run over everything."""
    heard: list[tuple[Segment, Hypothesis]] = []
    run = Run(config, engine, lambda segment, hypothesis: heard.append((segment, hypothesis)))
    cpu_before_s = cpu_seconds()
    with peak_memory() as peak:
        failures = sum(isinstance(item, Failure) for item in run)
    cpu_s = cpu_seconds() - cpu_before_s
    stats = run.stats
    if not heard or not stats.rtfx:
        msg = "inputs: none of them could be transcribed; there is nothing to measure"
        raise ConfigError(msg)
    return {
        "audio_s": round(stats.audio_s, 3),
        "segments": stats.segments,
        "failures": failures,
        "work_s": round(stats.work_s, 3),
        "rtfx": round(stats.rtfx, 2),
        "engine_rtfx": round(stats.engine_rtfx or 0.0, 2),
        "requests_per_s": round(stats.segments / stats.work_s, 3),
        "output_tokens_per_s": round(stats.tokens / stats.work_s, 1),
        "starved_share": round(stats.starved_s / stats.work_s, 5),
        "padding_ratio": round(stats.padding_ratio, 4),
        "workers": stats.num_workers,
        "stages_s": {name: round(spent, 3) for name, spent in stats.wall_s.items()},
        "cpu_s_per_audio_hour": round(cpu_s / stats.audio_s * 3600, 2),
        "peak_memory_bytes": peak[0],
        "gpu_memory_mib": [gpu["memory.used"] for gpu in gpus()],
        "latency_s": _quantiles([hypothesis.latency_s for _, hypothesis in heard]),
        "request_rtf": _quantiles([h.latency_s / segment.duration_s for segment, h in heard]),
        "ttft_s": _quantiles([h.first_token_s for _, h in heard if h.first_token_s is not None]),
        "lengths_s": _quantiles([segment.num_samples / SAMPLE_RATE for segment, _ in heard]),
    }


def _quantiles(values: list[float]) -> dict[str, float]:
    """Median, 95th and 99th percentile; nothing of nothing."""
    ordered = sorted(values)
    return {
        name: round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 5)
        for name, share in QUANTILES.items()
        if ordered
    }


def _ratios(seconds: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """Median seconds of each baseline, and how many times as fast the run was, turn by turn."""
    own = seconds["asrbatch"]
    return {
        name: {
            "seconds": round(statistics.median(taken), 3),
            "times_as_fast": round(
                statistics.median(theirs / ours for theirs, ours in zip(taken, own, strict=True)), 3
            ),
        }
        for name, taken in seconds.items()
        if name != "asrbatch"
    }
