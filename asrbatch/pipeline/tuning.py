"""How many workers and how many outstanding segments, by what the run shows so far.

Both begin at their most, since the first moments want the most of a front end. Workers that only
wait for room are let go after a while, for their memory; a starved engine gets them back at once.
Where memory runs short, both go down.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from asrbatch.machine import free_memory_share

if TYPE_CHECKING:
    from asrbatch.engines import Engine
    from asrbatch.pipeline.frontend import FrontEnd
    from asrbatch.pipeline.stats import RunStats

INTERVAL_S = 2.0

STARVED_SHARE = 0.01
"""Of an interval, above which the engine counts as starved."""

QUIET_INTERVALS = 15
"""Without starvation and with segments waiting, before a worker is let go."""

MIN_FREE_MEMORY = 0.05
"""Share of the memory; below it the system begins to swap, or to kill."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What may be chosen."""

    min_workers: int
    max_workers: int
    min_outstanding: int
    max_outstanding: int


@dataclass(frozen=True, slots=True)
class Setting:
    """What is chosen."""

    workers: int
    outstanding: int
    quiet_intervals: int = 0


@dataclass(frozen=True, slots=True)
class Seen:
    """What an interval showed."""

    starved_share: float
    num_waiting: int
    """Messages that the front end had ready at its end."""
    free_memory: float
    """Share of the memory that is free."""


def choose(setting: Setting, seen: Seen, bounds: Bounds) -> Setting:
    """The setting for the next interval."""
    workers, outstanding = setting.workers, setting.outstanding
    quiet = 0
    if seen.free_memory < MIN_FREE_MEMORY:
        workers, outstanding = workers - 1, outstanding * 3 // 4
    elif seen.starved_share > STARVED_SHARE:
        # Starved beside a full queue: it may hold too little; beside an empty one: too few work.
        if seen.num_waiting:
            outstanding = outstanding * 3 // 2
        else:
            workers = 2 * workers
    elif seen.num_waiting:
        quiet = setting.quiet_intervals + 1
        if quiet == QUIET_INTERVALS:
            workers, quiet = workers - 1, 0
    return Setting(
        min(max(workers, bounds.min_workers), bounds.max_workers),
        min(max(outstanding, bounds.min_outstanding), bounds.max_outstanding),
        quiet,
    )


class Tuner:
    """Looks at a run now and then, and changes its setting."""

    def __init__(
        self, front_end: FrontEnd, engine: Engine, stats: RunStats, min_workers: int
    ) -> None:
        """Begin with the most.

        Args:
            front_end: Whose workers follow.
            engine: Its concurrency and capacity bound the outstanding segments.
            stats: Starved time so far; told what was chosen.
            min_workers: How far their number may go down.
        """
        self._front_end = front_end
        self._stats = stats
        self._bounds = Bounds(min_workers, stats.num_workers, engine.concurrency, engine.capacity)
        self._setting = Setting(stats.num_workers, engine.capacity)
        self._since, self._starved_s = time.perf_counter(), stats.starved_s
        stats.outstanding = engine.capacity

    @property
    def outstanding(self) -> int:
        """Segments that the engine may hold."""
        return self._setting.outstanding

    def tick(self) -> None:
        """Choose anew where an interval is over."""
        passed_s = time.perf_counter() - self._since
        if passed_s < INTERVAL_S:
            return
        starved_s = self._stats.starved_s - self._starved_s
        seen = Seen(starved_s / passed_s, self._front_end.num_waiting, free_memory_share())
        self._since, self._starved_s = time.perf_counter(), self._stats.starved_s
        chosen = choose(self._setting, seen, self._bounds)
        if replace(chosen, quiet_intervals=self._setting.quiet_intervals) != self._setting:
            self._front_end.resize(chosen.workers)
            self._stats.num_workers, self._stats.outstanding = chosen.workers, chosen.outstanding
            self._stats.retunings += 1
        self._setting = chosen
