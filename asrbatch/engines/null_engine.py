"""An engine that answers at once with nothing: for measuring everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asrbatch.data import Hypothesis

if TYPE_CHECKING:
    from asrbatch.data import Features, Segment, Waveform
    from asrbatch.engines.base import EngineConfig, ModelSpec


class NullEngine:
    """Answers each segment with an empty text."""

    concurrency = 1
    capacity = 512
    max_segment_samples = None
    shares_cores = False

    def __init__(self, spec: ModelSpec, config: EngineConfig) -> None:
        self._answers: list[Hypothesis] = []

    @property
    def outstanding(self) -> int:
        """Segments not yet answered."""
        return len(self._answers)

    languages = None

    def submit(self, segment: Segment, audio: Waveform | Features) -> None:
        """Take a segment."""
        self._answers.append(
            Hypothesis(segment.recording_id, segment.index, "", segment.language, "stop", (), 0.0)
        )

    def step(self) -> list[Hypothesis]:
        """Answer all of them."""
        answers, self._answers = self._answers, []
        return answers

    def close(self) -> None:
        """Nothing is held."""
