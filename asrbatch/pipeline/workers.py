"""The worker processes, as the main process sees them: started, fed, heard, and replaced.

They are programs of their own (not `multiprocessing`, which would run the user's main module
again in each of them), in a process group of their own, so that Ctrl-C reaches the main process
alone; when that ends, however it ends, their connection closes and they end too.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, NamedTuple

from asrbatch.arena import HEADER_BYTES, Arena
from asrbatch.data import ALIGNMENT, SAMPLE_RATE
from asrbatch.errors import WorkerError
from asrbatch.machine import module_path
from asrbatch.pipeline.jobs import (
    Again,
    Decode,
    Decoded,
    Identified,
    Identify,
    Probe,
    Probed,
    Refused,
    WorkerSettings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asrbatch.data import MelParams
    from asrbatch.pipeline.jobs import Job, Reply

logger = logging.getLogger(__name__)

COMMAND = "from asrbatch.pipeline.worker import main; main()"

MAX_JOBS = 16
"""Jobs that a worker may hold, the one it works on included."""

MAX_QUEUED_S = 0.1
"""Work in the jobs that a worker holds, beyond which it gets no more: enough to be busy until the
next ones come, too little for short files to wait long behind a long one."""

DECODED_SAMPLES_PER_S = 2_000 * SAMPLE_RATE
HASHED_BYTES_PER_S = 1_000_000_000
PROBED_PER_S = 5_000
"""Rough speeds of one core (BENCHMARKS.md)."""

MAX_FAILED_STARTS = 3
"""Workers that end before their first reply, one after the other."""

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""A worker is one thread: there are as many workers as cores are to spare."""


class Crashed(NamedTuple):
    """A worker died while it did a job."""

    job: Job
    message: str


@dataclass(slots=True, eq=False)
class _Process:
    popen: subprocess.Popen[bytes]
    connection: Connection
    place: int
    """Which region of the arena it has."""
    jobs: deque[Job] = field(default_factory=deque)
    has_begun: bool = False
    retired: bool = False

    @property
    def queued_s(self) -> float:
        return sum(map(estimate_s, self.jobs))

    @property
    def has_room(self) -> bool:
        return not self.retired and len(self.jobs) < MAX_JOBS and self.queued_s < MAX_QUEUED_S


class WorkerPool:
    """A number of worker processes that share an arena."""

    def __init__(
        self, arena: Arena, settings: WorkerSettings, num_workers: int, max_workers: int
    ) -> None:
        """Start.

        Args:
            arena: In which they write.
            settings: What each is told, but for its region.
            num_workers: To start with.
            max_workers: Regions that the arena is divided into.
        """
        self.arena = arena
        self._settings = settings
        self._max_workers = max_workers
        self._failed_starts = 0
        self._processes: list[_Process] = []
        self.resize(num_workers)

    @property
    def num_workers(self) -> int:
        """Workers that take jobs."""
        return sum(not process.retired for process in self._processes)

    @property
    def is_idle(self) -> bool:
        """Whether no job is under way."""
        return not any(process.jobs for process in self._processes)

    @property
    def mel(self) -> MelParams | None:
        """Features that they compute; None where the model takes the waveform."""
        return self._settings.mel

    @property
    def num_busy(self) -> int:
        """Workers that have something to do, and room for it."""
        processes = list(self._processes)  # from another thread than the one that changes it
        return sum(bool(p.jobs) and not self.arena.is_waiting(p.place) for p in processes)

    def resize(self, num_workers: int) -> None:
        """Start workers, or let some end with their last job."""
        active = [process for process in self._processes if not process.retired]
        for process in active[num_workers:]:
            process.retired = True
            self._end_if_idle(process)
        places = {process.place for process in self._processes}
        free = [place for place in range(self._max_workers) if place not in places]
        for place in free[: max(0, num_workers - len(active))]:
            self._processes.append(self._start(place))

    def submit(self, job: Job) -> bool:
        """Give a job to the worker that has the least to do; False where none has room."""
        open_ones = [process for process in self._processes if process.has_room]
        if not open_ones:
            return False
        process = min(open_ones, key=lambda process: process.queued_s)
        process.jobs.append(job)
        with suppress(ConnectionError):  # it has just died: `receive` will find out
            process.connection.send([job])
        return True

    def receive(self, wake: Connection | None = None) -> Iterator[Reply | Crashed | Job]:
        """Wait for something to happen.

        Args:
            wake: Also return, with nothing, when this can be read.

        Yields:
            Replies; a `Crashed` for the job that a worker died of; and jobs that it had not
            begun, to be given to another.

        Raises:
            WorkerError: Workers end before they begin.
        """
        by_connection = {process.connection: process for process in self._processes}
        for ready in wait([*by_connection, *([wake] if wake else [])]):
            process = by_connection.get(ready)  # type: ignore[call-overload]
            if process is None:
                continue
            try:
                replies = process.connection.recv()
            except (EOFError, ConnectionError):
                yield from self._bury(process)
                continue
            process.has_begun, self._failed_starts = True, 0
            for reply in replies:
                if isinstance(reply, Probed | Identified | Decoded | Refused):
                    process.jobs.popleft()
                yield reply
            self._end_if_idle(process)

    def close(self) -> None:
        """End the workers at once: what they read is never written, what they write is memory."""
        for process in self._processes:
            process.connection.close()
            process.popen.terminate()
        for process in self._processes:
            process.popen.wait()
        self._processes = []

    def _end_if_idle(self, process: _Process) -> None:
        if process.retired and not process.jobs:
            process.connection.close()
            process.popen.wait()
            self._processes.remove(process)

    def _bury(self, process: _Process) -> Iterator[Crashed | Job]:
        """Say what a dead worker leaves, and put another in its place."""
        process.connection.close()
        code = process.popen.wait()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        logger.debug("a worker ended by %s", how)
        self._processes.remove(process)
        if not process.has_begun:
            self._failed_starts += 1
            if self._failed_starts >= MAX_FAILED_STARTS:
                msg = f"workers: they end by {how} before they begin; is asrbatch installed whole?"
                raise WorkerError(msg)
        elif process.jobs:
            job = process.jobs.popleft()
            if isinstance(job, Probe) and len(job.sources) > 1:
                # One of them was it: each on its own tells which.
                yield from (Probe(job.first + i, (s,)) for i, s in enumerate(job.sources))
            else:
                yield Crashed(job, f"the decoder died of it ({how})")
        yield from process.jobs
        if not process.retired:
            self._processes.append(self._start(process.place))

    def _start(self, place: int) -> _Process:
        room_bytes = self._settings.arena_bytes - HEADER_BYTES
        region_bytes = room_bytes // self._max_workers // ALIGNMENT * ALIGNMENT
        start = HEADER_BYTES + place * region_bytes
        region = (start, start + region_bytes)
        held = tuple(self.arena.held_in(*region))
        settings = replace(self._settings, place=place, region=region, held=held)
        self.arena.say_waiting(place, waits=False)
        ours, theirs = socket.socketpair()
        with theirs:
            descriptors = (theirs.fileno(), self.arena.fileno())
            popen = subprocess.Popen(
                [sys.executable, "-P", "-c", COMMAND, *map(str, descriptors)],
                pass_fds=descriptors,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                process_group=0,
                env=os.environ | ONE_THREAD | {"PYTHONPATH": module_path()},
            )
        connection = Connection(ours.detach())
        connection.send(settings)
        return _Process(popen, connection, place)


def estimate_s(job: Job) -> float:
    """How long a job will take, roughly; what is unknown counts as a short file."""
    if isinstance(job, Decode):
        return (job.recording.num_samples or 0) / DECODED_SAMPLES_PER_S
    if isinstance(job, Again):
        return job.segment.num_samples / DECODED_SAMPLES_PER_S
    if isinstance(job, Identify):
        return job.recording.info.num_bytes / HASHED_BYTES_PER_S
    return len(job.sources) / PROBED_PER_S
