"""Memory and CPU time of this process and of those that it has started."""

from __future__ import annotations

import os
import resource
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psutil

from asrbatch.ticker import Ticker

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLING_INTERVAL_S = 0.25


@contextmanager
def peak_memory() -> Iterator[list[int]]:
    """Watch the memory of all processes together, shared pages counted once.

    Yields:
        The most bytes so far, as the only item.
    """
    peak = [0]

    def look() -> None:
        peak[0] = max(peak[0], memory_bytes())

    look()
    with Ticker(SAMPLING_INTERVAL_S, look):
        yield peak
    look()


def memory_bytes() -> int:
    """Bytes that all processes hold together at this moment."""
    total = 0
    for process in _processes():
        try:
            total += process.memory_full_info().pss
        except (psutil.Error, AttributeError):
            continue  # it has ended meanwhile, or the system does not tell
    return total


def cpu_seconds() -> float:
    """Seconds that all processes have computed, those included that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = ended.ru_utime + ended.ru_stime
    for process in _processes():
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system
    return total


def _processes() -> list[psutil.Process]:
    own = psutil.Process(os.getpid())
    return [own, *own.children(recursive=True)]
