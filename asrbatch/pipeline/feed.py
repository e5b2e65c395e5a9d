"""The rolling queue: keeps the engine full from the first segment to the last, without a barrier."""

from __future__ import annotations

import queue
import time
from typing import TYPE_CHECKING

from asrbatch.machine import num_cores
from asrbatch.pipeline.tuning import Tuner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from asrbatch.data import Hypothesis
    from asrbatch.engines import Engine
    from asrbatch.pipeline.frontend import FrontEnd
    from asrbatch.pipeline.messages import Message
    from asrbatch.pipeline.stats import RunStats

POLL_S = 0.1
"""How long an idle engine waits for the front end before it looks whether to stop."""

FILL_S = 1.0
"""How long the engine is held back at the start until it has as much as it can do at once. A step
with the first few segments would take its time while all the others come, and leave it starved."""


TURN_S = 0.005
"""How often an engine that computes on the workers' cores looks whether they are free again."""


PATIENCE_S = 1.0
"""How long workers that compute may produce nothing before the engine goes on: they may hang."""


class Turn:
    """Who has the cores, where the engine and the workers share them.

    An engine whose threads wait for each other many times in a step is as slow as the one whose
    core a worker has. While all cores have workers it had better not begin a step.
    """

    def __init__(self, front_end: FrontEnd, engine: Engine) -> None:
        self._front_end = front_end
        self._engine = engine
        self._num_waiting = -1
        self._since = 0.0

    def is_theirs(self) -> bool:
        """Whether the workers should have the cores."""
        if not self._engine.shares_cores or self._front_end.num_busy < num_cores():
            return False
        num_waiting, now = self._front_end.num_waiting, time.perf_counter()
        if num_waiting != self._num_waiting:
            self._num_waiting, self._since = num_waiting, now
        return now - self._since < PATIENCE_S


class StarvedClock:
    """Sums the time in which the engine had less than it can do at once, while work remained."""

    def __init__(self, stats: RunStats) -> None:
        self._stats = stats
        self._since: float | None = None

    def tick(self, *, is_starved: bool) -> None:
        """Count the time since the last tick, and say how it is from now on."""
        now = time.perf_counter()
        if self._since is not None:
            self._stats.starved_s += now - self._since
        self._since = now if is_starved else None


def feed(
    front_end: FrontEnd,
    engine: Engine,
    stats: RunStats,
    is_stopping: Callable[[], bool],
    min_workers: int,
) -> Iterator[Message | Hypothesis]:
    """Take messages while the engine has room, and let it work.

    Args:
        front_end: Where segments come from.
        engine: Whoever iterates submits each `Ready` to it before going on.
        stats: Its clocks.
        is_stopping: Asked between two steps.
        min_workers: How far the number of workers may go down.

    Yields:
        Messages of the front end, and hypotheses of the engine.
    """
    clock = StarvedClock(stats)
    turn = Turn(front_end, engine)
    tuner = Tuner(front_end, engine, stats, min_workers)
    clock.tick(is_starved=True)
    full_by = time.perf_counter() + FILL_S
    while (front_end.has_more or engine.outstanding) and not is_stopping():
        tuner.tick()
        while front_end.has_more and engine.outstanding < tuner.outstanding:
            may_wait = not engine.outstanding or (
                engine.outstanding < engine.concurrency and time.perf_counter() < full_by
            )
            try:
                message = front_end.get(POLL_S if may_wait else None)
            except queue.Empty:
                if not may_wait or is_stopping():
                    break
                continue
            if message is not None:
                yield message
        clock.tick(is_starved=front_end.has_more and engine.outstanding < engine.concurrency)
        if turn.is_theirs():
            time.sleep(TURN_S)
            continue
        if engine.outstanding:
            with stats.clock("engine"):
                hypotheses = engine.step()
            clock.tick(is_starved=front_end.has_more and engine.outstanding < engine.concurrency)
            yield from hypotheses
    clock.tick(is_starved=False)
