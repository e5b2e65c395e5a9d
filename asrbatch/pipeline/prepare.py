"""From inputs to a plan: scan, leave out what is done, probe, plan."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from asrbatch.data import Failure, Recording
from asrbatch.errors import ConfigError, RecordingError
from asrbatch.plan import Plan, plan_batches
from asrbatch.probe import probe
from asrbatch.scan import scan

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from asrbatch.data import Source
    from asrbatch.pipeline.config import RunConfig
    from asrbatch.pipeline.stats import RunStats


@dataclass(frozen=True, slots=True)
class Prepared:
    """What there is to do."""

    recordings: list[Recording]
    plan: Plan
    failures: list[Failure]
    """Of files whose headers cannot be read."""
    skipped: list[Source]
    """Done before."""


def scan_inputs(config: RunConfig, stats: RunStats) -> list[Source]:
    """Scan everything that is named.

    Raises:
        ConfigError: There is nothing to transcribe, or the results would replace an input.
    """
    with stats.clock("scan"):
        sources = scan(config.inputs, config.scan)
    if config.out is not None and any(_is_same_file(s.path, config.out) for s in sources):
        msg = f"out: {config.out} is one of the inputs; choose another --out"
        raise ConfigError(msg)
    return sources


def prepare(
    sources: Sequence[Source],
    config: RunConfig,
    stats: RunStats,
    is_done: Callable[[Source, os.stat_result], bool],
) -> Prepared:
    """Leave out what is done, probe the rest, and plan it.

    Args:
        sources: What was scanned.
        config: The run.
        stats: Its clocks.
        is_done: Tells from path, size and mtime whether a source was done before.

    Raises:
        ConfigError: The budget cannot hold a segment.
    """
    skipped: list[Source] = []
    todo: list[Source] = []
    with stats.clock("scan"):
        for source in sources:
            (skipped if _is_done(source, is_done) else todo).append(source)
    with stats.clock("probe"), ThreadPoolExecutor(config.workers) as pool:
        probed = list(pool.map(lambda source: _probe(source, config), todo))
    recordings = [p for p in probed if isinstance(p, Recording)]
    with stats.clock("plan"):
        # A recording of no samples is planned too: the decoder has the last word on its length.
        durations = [r.num_samples or None for r in recordings]
        plan = plan_batches(durations, config.budget, config.chunk_samples)
    failures = [p for p in probed if isinstance(p, Failure)]
    return Prepared(recordings, plan, failures, skipped)


def _is_same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _is_done(source: Source, is_done: Callable[[Source, os.stat_result], bool]) -> bool:
    try:
        return is_done(source, source.path.stat())
    except OSError:
        return False  # the probe says what is wrong with it


def _probe(source: Source, config: RunConfig) -> Recording | Failure:
    try:
        return Recording(source, probe(source.path, config.raw_format))
    except RecordingError as error:
        return Failure(source.key, error.stage, type(error).__name__, str(error))
