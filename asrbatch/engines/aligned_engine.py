"""An engine whose hypotheses get the times of their words from an aligner."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from asrbatch.engines.aligner import BATCH, Item

if TYPE_CHECKING:
    from asrbatch.data import Features, Hypothesis, Segment, Waveform
    from asrbatch.engines.aligner import Aligner
    from asrbatch.engines.base import Engine


class AlignedEngine:
    """Keeps the audio of a segment until its words are found."""

    def __init__(self, engine: Engine, aligner: Aligner) -> None:
        self._engine = engine
        self._aligner = aligner
        self._held: dict[tuple[str, int], tuple[Segment, Waveform | Features]] = {}
        self._waiting: list[Item] = []
        """Heard, and not aligned."""

    @property
    def concurrency(self) -> int:
        """As the engine has it."""
        return self._engine.concurrency

    @property
    def capacity(self) -> int:
        """As the engine has it, and a batch that waits for its words."""
        return self._engine.capacity + BATCH

    @property
    def shares_cores(self) -> bool:
        """As the engine does."""
        return self._engine.shares_cores

    @property
    def outstanding(self) -> int:
        """Segments without a hypothesis, or without its words."""
        return self._engine.outstanding + len(self._waiting)

    @property
    def max_segment_samples(self) -> int | None:
        """As the engine has it."""
        return self._engine.max_segment_samples

    @property
    def languages(self) -> frozenset[str] | None:
        """As the engine knows them; without words where the aligner does not."""
        return self._engine.languages

    def submit(self, segment: Segment, audio: Waveform | Features) -> None:
        """Hand a segment to the engine."""
        self._engine.submit(segment, audio)
        self._held[segment.recording_id, segment.index] = (segment, audio)

    def step(self) -> list[Hypothesis]:
        """Let the engine work, and align when there is a batch or nothing else to do."""
        answers = []
        for hypothesis in self._engine.step():
            key = (hypothesis.recording_id, hypothesis.index)
            segment, audio = self._held.pop(key)
            if self._aligner.knows(segment, hypothesis):
                self._waiting.append(Item(segment, audio, hypothesis))
            else:
                answers.append(hypothesis)
        if len(self._waiting) >= BATCH or not self._engine.outstanding:
            answers += self._align()
        return answers

    def close(self) -> None:
        """Free what the engine holds."""
        self._waiting.clear()
        self._held.clear()
        self._engine.close()

    def _align(self) -> list[Hypothesis]:
        """Those of like length together, so that little is padded."""
        waiting = sorted(self._waiting, key=lambda item: item.segment.num_samples)
        self._waiting = []
        answers = []
        for first in range(0, len(waiting), BATCH):
            batch = waiting[first : first + BATCH]
            words = self._aligner.align(batch)
            answers += [
                replace(item.hypothesis, words=found)
                for item, found in zip(batch, words, strict=True)
            ]
        return answers
