"""From inputs to a plan: scan, leave out what is done, probe, plan."""

from __future__ import annotations

import os
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from asrbatch.data import Failure, Recording
from asrbatch.errors import ConfigError
from asrbatch.ledger import RESULT_BEGINS, files_of
from asrbatch.pipeline.jobs import Probe, Probed
from asrbatch.pipeline.workers import Crashed
from asrbatch.plan import Plan, plan_batches
from asrbatch.scan import scan
from asrbatch.sessions import name_by_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from asrbatch.data import Source
    from asrbatch.pipeline.config import RunConfig
    from asrbatch.pipeline.stats import RunStats
    from asrbatch.pipeline.workers import WorkerPool

MAX_PROBED = 64
"""Files in one job: enough that its way there and back costs nothing."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What there is to do."""

    recordings: list[Recording]
    plan: Plan
    failures: list[Failure]
    """Of files whose headers cannot be read."""


def scan_inputs(config: RunConfig, stats: RunStats) -> list[Source]:
    """Scan everything that is named.

    Raises:
        ConfigError: There is nothing to transcribe, or the results would replace an input.
    """
    with stats.clock("scan"):
        sources = scan(config.inputs, config.scan)
    if isinstance(config.channels, int):
        sources = [
            replace(source, channel=config.channels) if source.channel is None else source
            for source in sources
        ]
    if config.session_by_folder:
        sources = name_by_folder(sources)
    if config.out is not None:
        _refuse_input(config.out, sources)
        own = files_of(config.out)
        endings = tuple(path.name for path in own)
        # With --ext any they would be taken for recordings.
        sources = [
            source
            for source in sources
            if not (str(source.location).endswith(endings) and source.path.resolve() in own)
        ]
    return sources


def leave_out_done(
    sources: Sequence[Source], is_done: Callable[[Source, os.stat_result], bool], stats: RunStats
) -> list[Source]:
    """What is not done.

    Args:
        sources: What was scanned.
        is_done: Tells from path, size and mtime whether a source was done before.
        stats: Its clocks and counts.
    """
    with stats.clock("scan"):
        todo = [source for source in sources if not _is_done(source, is_done)]
    stats.skipped = len(sources) - len(todo)
    return todo


def prepare(
    sources: Sequence[Source],
    config: RunConfig,
    stats: RunStats,
    pool: WorkerPool,
    is_stopping: Callable[[], bool],
) -> Prepared:
    """Probe and plan.

    Args:
        sources: What there is to do.
        config: The run.
        stats: Its clocks and counts.
        pool: Idle workers; in here a header that crashes its reader would cost the run.
        is_stopping: What is not probed by then is left out.

    Raises:
        ConfigError: The budget cannot hold a segment.
        WorkerError: The workers cannot start.
    """
    with stats.clock("probe"):
        probed = _probe(sources, pool, is_stopping)
    recordings = [p for p in probed if isinstance(p, Recording)]
    with stats.clock("plan"):
        # A recording of no samples is planned too: the decoder has the last word on its length.
        durations = [r.num_samples or None for r in recordings]
        plan = plan_batches(durations, config.budget, config.chunk_samples)
    stats.planned_files, stats.planned_samples = len(probed), plan.num_samples
    stats.padding_ratio = plan.padding_ratio
    return Prepared(recordings, plan, [p for p in probed if isinstance(p, Failure)])


def _probe(
    sources: Sequence[Source], pool: WorkerPool, is_stopping: Callable[[], bool]
) -> list[Recording | Failure]:
    """Read headers in the workers; in the order of the sources."""
    size = max(1, min(MAX_PROBED, len(sources) // (4 * pool.num_workers)))
    jobs = deque(
        Probe(first, tuple(sources[first : first + size])) for first in range(0, len(sources), size)
    )
    found: dict[int, Recording | Failure] = {}
    while (jobs or not pool.is_idle) and not is_stopping():
        while jobs and pool.submit(jobs[0]):
            jobs.popleft()
        for event in pool.receive():
            match event:
                case Probed(first, infos):
                    for index, info in enumerate(infos, first):
                        found[index] = (
                            info if isinstance(info, Failure) else Recording(sources[index], info)
                        )
                case Crashed(Probe(first, (source,)), text):
                    found[first] = Failure(source.key, "probe", "WorkerCrash", text)
                case Probe():
                    jobs.append(event)
    return [found[index] for index in sorted(found)]


def _refuse_input(out: Path, sources: Sequence[Source]) -> None:
    """Raise ConfigError if the results would replace an input."""
    try:
        with out.open("rb") as file:
            begins = file.read(len(RESULT_BEGINS))
        if begins == RESULT_BEGINS:
            return  # no audio; and to look at a million inputs would take seconds
        stat = out.stat()
    except OSError:
        return
    for source in sources:
        with suppress(OSError):
            if os.path.samestat(stat, source.path.stat()):
                msg = f"out: {out} is one of the inputs; choose another --out"
                raise ConfigError(msg)


def _is_done(source: Source, is_done: Callable[[Source, os.stat_result], bool]) -> bool:
    try:
        return is_done(source, os.stat(source.location))  # noqa: PTH116  (a million times)
    except OSError:
        return False  # the probe says what is wrong with it
