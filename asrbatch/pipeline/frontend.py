"""Worker threads that open, decode and cut, and hand over what the engine takes.

The codecs, soxr and BLAKE3 release the interpreter lock, so threads overlap with each other and
with the engine.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from asrbatch.cut import cut
from asrbatch.data import Failure, Segment
from asrbatch.decode import decode
from asrbatch.errors import RecordingError
from asrbatch.identity import content_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from asrbatch.data import Recording, Waveform
    from asrbatch.pipeline.config import RunConfig

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Opened:
    """A recording whose content id is known."""

    recording: Recording
    recording_id: str
    opened_at: float


@dataclass(frozen=True, slots=True)
class Ready:
    """A segment for the engine."""

    segment: Segment
    waveform: Waveform


@dataclass(frozen=True, slots=True)
class Closed:
    """The end of a recording: every segment of it has been handed over."""

    recording: Recording
    flags: tuple[str, ...]
    """Of the decoder."""
    decode_s: float


@dataclass(frozen=True, slots=True)
class Skipped:
    """A recording whose content was done before."""

    recording: Recording


@dataclass(frozen=True, slots=True)
class Failed:
    """A recording that could not be decoded."""

    recording: Recording
    failure: Failure


Message: TypeAlias = Opened | Ready | Closed | Skipped | Failed


class SampleBudget:
    """Bounds the decoded audio that waits for the engine; a single larger piece passes alone."""

    def __init__(self, max_samples: int) -> None:
        self._max = max_samples
        self._held = 0
        self._changed = threading.Condition()

    def acquire(self, num_samples: int, stopped: threading.Event) -> bool:
        """Wait for room; False if the run was stopped meanwhile."""
        with self._changed:
            self._changed.wait_for(
                lambda: stopped.is_set() or not self._held or self._held + num_samples <= self._max
            )
            if stopped.is_set():
                return False
            self._held += num_samples
            return True

    def release(self, num_samples: int) -> None:
        """Give room back."""
        with self._changed:
            self._held -= num_samples
            self._changed.notify_all()


class FrontEnd:
    """Decodes recordings in the given order and streams messages through a queue."""

    def __init__(
        self,
        recordings: Iterator[Recording],
        config: RunConfig,
        is_content_done: Callable[[Recording, str], bool],
    ) -> None:
        """Start the workers.

        Args:
            recordings: In the order of the plan.
            config: Number of workers, chunk limit, memory budget.
            is_content_done: Tells from the content id whether to skip a recording; called from
                the workers.
        """
        self._recordings = recordings
        self._config = config
        self._is_content_done = is_content_done
        self._next = threading.Lock()
        self._stopped = threading.Event()
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._budget = SampleBudget(round(config.budget.max_audio_s * 16_000))
        self._running = config.workers
        self._threads = [
            threading.Thread(target=self._work, name=f"decode-{i}", daemon=True)
            for i in range(config.workers)
        ]
        for thread in self._threads:
            thread.start()

    def get(self, timeout_s: float | None) -> Message | None:
        """Next message.

        Returns:
            None when every recording has been handed over.

        Raises:
            queue.Empty: Nothing came within `timeout_s`; None does not wait.
        """
        if not self._running:
            return None
        message = self._messages.get(timeout_s is not None, timeout_s)
        while message is None:
            self._running -= 1
            if not self._running:
                return None
            message = self._messages.get(timeout_s is not None, timeout_s)
        if isinstance(message, Ready):
            self._budget.release(len(message.waveform))
        return message

    def close(self) -> None:
        """Stop the workers; what they hold is dropped."""
        self._stopped.set()
        self._budget.release(0)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while not self._stopped.is_set():
            with self._next:
                recording = next(self._recordings, None)
            if recording is None:
                break
            for message in self._messages_of(recording):
                if isinstance(message, Ready) and not self._budget.acquire(
                    len(message.waveform), self._stopped
                ):
                    break
                self._messages.put(message)
        self._messages.put(None)

    def _messages_of(self, recording: Recording) -> Iterator[Message]:
        """Everything there is to say about a recording; a failure of any kind costs only it."""
        try:
            yield from self._open(recording)
        except RecordingError as error:
            yield Failed(recording, failure_of(recording, error))
        except Exception as error:
            logger.debug("while decoding %s", recording.source.path, exc_info=True)
            message = str(error) or type(error).__name__
            failure = Failure(recording.source.key, "decode", type(error).__name__, message)
            yield Failed(recording, failure)

    def _open(self, recording: Recording) -> Iterator[Message]:
        opened_at = time.perf_counter()
        source = recording.source
        recording_id = content_id(source.path) + source.part
        if self._is_content_done(recording, recording_id):
            yield Skipped(recording)
            return
        yield Opened(recording, recording_id, opened_at)
        stream = decode(source, recording.info, self._config.raw_format)
        busy_since, decode_s = opened_at, 0.0
        for index, span in enumerate(cut(stream, self._config.chunk_samples)):
            segment = Segment(
                recording_id=source.key,
                index=index,
                start_sample=source.start_sample + span.start_sample,
                num_samples=len(span.waveform),
                cut=span.cut,
                language=source.language or self._config.language,
                context=source.context or self._config.context,
            )
            decode_s += time.perf_counter() - busy_since
            yield Ready(segment, span.waveform)
            busy_since = time.perf_counter()
        decode_s += time.perf_counter() - busy_since
        yield Closed(recording, stream.flags, decode_s)


def failure_of(recording: Recording, error: RecordingError) -> Failure:
    """The failure line of an error."""
    return Failure(recording.source.key, error.stage, type(error).__name__, str(error))
