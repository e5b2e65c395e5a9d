"""Feeds the worker processes and streams what they produce, from a thread of its own.

Each recording is first identified by its content, then judged (is it done, is it known?), and
decoded only where the model must hear it. The thread keeps the workers busy while the main
thread drives the engine; the bytes of the arena bound what waits between the two.
"""

from __future__ import annotations

import os
import queue
import select
import threading
from collections import deque
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from asrbatch.data import Failure
from asrbatch.pipeline.jobs import (
    Again,
    Decode,
    Decoded,
    Identified,
    Identify,
    Produced,
    Refused,
)
from asrbatch.pipeline.messages import Closed, Failed, Message, Opened, Ready, Unheard
from asrbatch.pipeline.tiers import FeatureTiers
from asrbatch.pipeline.workers import Crashed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from asrbatch.data import Recording, Segment
    from asrbatch.feature_store import FeatureStore
    from asrbatch.pipeline.config import RunConfig
    from asrbatch.pipeline.jobs import Job, Reply
    from asrbatch.pipeline.workers import WorkerPool

MAX_IDENTIFIED = 32
"""Recordings that are hashed ahead: few, so that they are still in the page cache when read."""

MAX_WAITING = 1024
"""Messages beyond which recordings that are in memory take the long way, by a worker."""


@dataclass(frozen=True, slots=True)
class _Idle:
    """Everything has been handed over, and of what was asked for again so many segments."""

    num_again: int


class FrontEnd:
    """Takes recordings in the given order and streams messages through a queue."""

    def __init__(
        self,
        recordings: Iterator[Recording],
        config: RunConfig,
        pool: WorkerPool,
        judge: Callable[[Recording, str], Message | None],
        store: FeatureStore | None = None,
    ) -> None:
        """Start.

        Args:
            recordings: In the order of the plan.
            config: Language and context that hold where a recording has none.
            pool: Idle workers.
            judge: Tells from the content id what to do with a recording, in this object's
                thread: an `Opened` is decoded, any other message passed on, None is dropped.
            store: Features that were computed before.
        """
        self._source = enumerate(recordings)
        self._config = config
        self._pool = pool
        self._judge = judge
        self._tiers = FeatureTiers(store, config, pool.mel)
        self._recordings: dict[int, Recording] = {}
        """Those under way, by their position in the plan."""
        self._jobs: deque[Job] = deque()
        self._identifying: set[int] = set()
        self._messages: queue.SimpleQueue[Message | Exception | _Idle] = queue.SimpleQueue()
        self._asked: queue.SimpleQueue[Again] = queue.SimpleQueue()
        self._again: dict[int, Again] = {}
        """Segments under way once more, by their negative index."""
        self._num_asked = self._num_again = 0
        """Segments asked for again, and done; the first is the main thread's."""
        self.has_more = True
        """Whether `get` may give something."""
        self._stopped = False
        self._num_workers = pool.num_workers
        wake_reader, self._wake = os.pipe()
        self._woken = Connection(wake_reader, writable=False)
        self._thread = threading.Thread(target=self._run, name="front end", daemon=True)
        self._thread.start()

    def get(self, timeout_s: float | None) -> Message | None:
        """Next message.

        Returns:
            None when every recording has been handed over, and what was asked for again.

        Raises:
            queue.Empty: Nothing came within `timeout_s`; None does not wait.
            WorkerError: The workers cannot start.
        """
        message = self._messages.get(timeout_s is not None, timeout_s)
        if isinstance(message, Exception):
            raise message
        if isinstance(message, _Idle):
            self.has_more = message.num_again < self._num_asked
            if self.has_more:
                raise queue.Empty
            return None
        return message

    def hear_again(self, recording: Recording, segment: Segment, *, is_split: bool) -> None:
        """Have a segment decoded once more, before anything that has not begun.

        Args:
            recording: Where it is in.
            segment: As it is to be heard; its index is below 0.
            is_split: Cut it in two.
        """
        self._num_asked += 1
        self.has_more = True
        self._asked.put(Again(-self._num_asked, recording, segment, is_split))
        os.write(self._wake, b"+")

    @property
    def num_waiting(self) -> int:
        """Messages that have not been taken."""
        return self._messages.qsize()

    def resize(self, num_workers: int) -> None:
        """Start workers, or let some end with their last job, when one of them next replies."""
        self._num_workers = num_workers

    @property
    def num_busy(self) -> int:
        """Workers that compute at this moment."""
        return self._pool.num_busy

    def close(self) -> None:
        """Stop; what the workers hold is dropped."""
        self._stopped = True
        os.close(self._wake)
        self._thread.join()
        self._woken.close()

    def _run(self) -> None:
        try:
            is_idle = False
            while not self._stopped:
                self._take_asked()
                was_idle, is_idle = is_idle, not self._dispatch()
                if is_idle and not was_idle:
                    self._messages.put(_Idle(self._num_again))
                for event in self._pool.receive(self._woken):
                    self._handle(event)
                if self._num_workers != self._pool.num_workers:
                    self._pool.resize(self._num_workers)
        except Exception as error:  # noqa: BLE001  (the main thread raises it)
            self._messages.put(error)

    def _take_asked(self) -> None:
        # First the sign, then what it stands for: what comes in between is found the next time.
        if self._woken.poll() and not self._stopped:
            os.read(self._woken.fileno(), select.PIPE_BUF)
        while not self._asked.empty():
            job = self._asked.get()
            self._again[job.index] = job
            self._jobs.appendleft(job)

    def _dispatch(self) -> bool:
        """Give out jobs while there is room; False when there is nothing left to wait for."""
        while (job := self._next_job()) is not None:
            if not self._pool.submit(job):
                self._jobs.appendleft(job)
                break
        return bool(self._jobs) or not self._pool.is_idle

    def _next_job(self) -> Job | None:
        """What can be decoded or was given back, else the next file to be hashed."""
        if self._jobs:
            return self._jobs.popleft()
        if len(self._identifying) >= MAX_IDENTIFIED:
            return None
        index, recording = next(self._source, (-1, None))
        if recording is None:
            return None
        self._recordings[index] = recording
        self._identifying.add(index)
        return Identify(index, recording)

    def _handle(self, event: Reply | Crashed | Job) -> None:
        match event:
            case Identified():
                self._open(event)
            case Produced():
                audio = self._pool.arena.read(event.slot)
                if event.index not in self._again:
                    self._tiers.add(event, self._recordings[event.index], audio)
                self._messages.put(Ready(event.segment, audio))
            case Decoded(index) if index in self._again:
                self._end_again(index)
            case Decoded():
                recording = self._recordings.pop(event.index)
                tier = "disk" if event.recalled else None
                closed = Closed(recording, event.flags, event.num_samples, event.decode_s, tier)
                self._messages.put(closed)
                self._tiers.finish(event)
            case Refused(index) | Crashed(Again(index)) if index in self._again:
                job = self._end_again(index)
                self._messages.put(Unheard(job.recording, job.segment))
            case Refused():
                self._fail(event.index, event.failure)
            case Crashed(Identify() | Decode() as job, text):
                key = job.recording.source.key
                self._fail(job.index, Failure(key, "decode", "WorkerCrash", text))
            case Identify() | Decode() | Again():
                self._jobs.appendleft(event)

    def _end_again(self, index: int) -> Again:
        self._num_again += 1
        return self._again.pop(index)

    def _open(self, identified: Identified) -> None:
        self._identifying.discard(identified.index)
        recording = self._recordings[identified.index]
        message = self._judge(recording, identified.recording_id)
        if message is not None:
            self._messages.put(message)
        if not isinstance(message, Opened):
            del self._recordings[identified.index]
            return
        channels = self._config.channels_of(recording)
        self._tiers.begin(identified.index, identified.recording_id, channels)
        source = recording.source
        job = Decode(
            identified.index,
            recording,
            source.language or self._config.language,
            source.context or self._config.context,
            channels,
            self._tiers.path(identified.index),
        )
        # What lies in messages cannot leave the memory tier.
        is_room = self._messages.qsize() < MAX_WAITING
        features = self._tiers.recall(job.index) if is_room else None
        if features is None:
            self._jobs.append(job)
            return
        for index, span in enumerate(features.spans):
            self._messages.put(Ready(job.segment(index, span), span.audio))
        del self._recordings[job.index]
        self._tiers.forget(job.index)
        num_samples = features.num_samples
        self._messages.put(Closed(recording, features.flags, num_samples, 0.0, "memory"))

    def _fail(self, index: int, failure: Failure) -> None:
        self._identifying.discard(index)
        self._tiers.forget(index)
        self._messages.put(Failed(self._recordings.pop(index), failure))
