"""Whisper in CTranslate2, through faster-whisper's model: the embedded default without a GPU.

Segments of many files go together into one `generate` call, with timestamps, so that Whisper says
how far it came in each of them; what is left of a segment goes into the next call. Several such
batches are at work at once, each on threads of its own: that keeps the cores busier than one batch
on all of them (BENCHMARKS.md).
"""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from asrbatch.engines.whisper_hearing import MAX_SEGMENT_SAMPLES, Hearing
from asrbatch.engines.whisper_model import load_whisper
from asrbatch.engines.whisper_window import Window
from asrbatch.errors import EngineError

if TYPE_CHECKING:
    from asrbatch.data import Hypothesis, Segment, Waveform
    from asrbatch.engines.base import EngineConfig, ModelSpec

CHOICE = 4
"""Batches to choose from for each one at work."""


class CTranslate2Engine:
    """Whisper on the CPU, or on a GPU that CTranslate2 sees."""

    def __init__(self, spec: ModelSpec, config: EngineConfig) -> None:
        """Load the model.

        Raises:
            EngineError: The model cannot be loaded, or is not the one that was shipped.
        """
        self._whisper, num_batches = load_whisper(spec, config)
        self._batch_size = config.batch_size
        self._num_batches = num_batches
        self._hearing = Hearing(self._whisper, spec, config)
        self._threads = ThreadPoolExecutor(num_batches, "ctranslate2")
        self._waiting: deque[Window] = deque()
        self._running: dict[Future[None], list[Window]] = {}

    @property
    def concurrency(self) -> int:
        """A batch for each of those at work at once."""
        return self._num_batches * self._batch_size

    @property
    def capacity(self) -> int:
        """Several times as many, so that the next batches can be of like length."""
        return CHOICE * self.concurrency

    @property
    def outstanding(self) -> int:
        """Segments submitted and not yet answered."""
        return len(self._waiting) + sum(map(len, self._running.values()))

    shares_cores = False
    """Each batch is on one core as a rule, and no thread waits for that of another."""

    max_segment_samples = MAX_SEGMENT_SAMPLES

    @property
    def languages(self) -> frozenset[str] | None:
        """English alone for the models whose name ends in .en."""
        return frozenset(self._whisper.supported_languages)

    def submit(self, segment: Segment, audio: Waveform) -> None:
        """Queue a segment for the next batch."""
        self._waiting.append(Window(segment, audio, time.perf_counter()))

    def step(self) -> list[Hypothesis]:
        """Keep the threads busy until a batch is done."""
        self._start_batches()
        answered: list[Window] = []
        for future in wait(self._running, return_when=FIRST_COMPLETED).done:
            batch = self._running.pop(future)
            try:
                future.result()
            except Exception as error:  # of CTranslate2, faster-whisper or the tokenizer
                msg = f"CTranslate2 stopped: {error}"
                raise EngineError(msg) from error
            answered += (window for window in batch if window.finish_reason)
            # What is not at its end goes on first, so that its recording is not kept waiting.
            self._waiting.extendleft(w for w in reversed(batch) if not w.finish_reason)
        self._start_batches()
        return [self._hearing.hypothesis(window) for window in answered]

    def close(self) -> None:
        """Free the model's memory; the batches at work are waited for."""
        self._threads.shutdown(cancel_futures=True)
        self._whisper.model.unload_model()

    def _start_batches(self) -> None:
        """Share what waits among the idle threads."""
        for num_idle in range(self._num_batches - len(self._running), 0, -1):
            count = min(self._batch_size, -(-len(self._waiting) // num_idle))
            if not count:
                return
            batch = self._next_batch(count)
            self._running[self._threads.submit(self._hearing.work, batch)] = batch

    def _next_batch(self, count: int) -> list[Window]:
        """The window that has waited longest, and those that are most like it in length.

        A batch takes as long as the longest text in it.
        """
        first = self._waiting[0]
        num_frames = self._hearing.num_frames(first)

        def distance(window: Window) -> tuple[bool, int]:
            return self._hearing.num_frames(window) != num_frames, abs(window.rest - first.rest)

        nearest = sorted(self._waiting, key=distance)[:count]
        chosen = set(map(id, nearest))
        self._waiting = deque(window for window in self._waiting if id(window) not in chosen)
        return nearest
