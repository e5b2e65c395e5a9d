"""A recording under way, from its first segment to its transcript."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from asrbatch.data import SAMPLE_RATE, Transcript
from asrbatch.identity import root_digest
from asrbatch.stitch import join_texts, main_language, stitch_segment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from asrbatch.data import Hypothesis, Recording, Segment, TranscriptSegment
    from asrbatch.engines import ModelSpec
    from asrbatch.guard import Trial
    from asrbatch.pipeline.messages import Closed
    from asrbatch.pipeline.review import Review

RETRIED = "retried"
"""The text is not the first one that the model gave."""

NEEDS_REVIEW = "needs_review"
"""Something still speaks against a text, after all retries."""

MANY_SKIPPED = 0.5
"""Where more of a recording than this share is left out, somebody had better listen."""


@dataclass(slots=True)
class Assembly:
    """A recording under way."""

    recording: Recording
    recording_id: str
    opened_at: float
    segments: list[Segment] = field(default_factory=list)
    hypotheses: dict[int, Hypothesis] = field(default_factory=dict)
    closed: Closed | None = None
    review: Review | None = None
    """Once every segment has been answered."""

    @property
    def is_answered(self) -> bool:
        """Whether every segment has been handed over and answered."""
        return self.closed is not None and len(self.hypotheses) == len(self.segments)

    @property
    def answers(self) -> list[tuple[Segment, Hypothesis]]:
        """Each segment with its answer, in order of time."""
        ordered = sorted(self.segments, key=lambda segment: segment.start_sample)
        return [(segment, self.hypotheses[segment.index]) for segment in ordered]

    def to_transcript(self, spec: ModelSpec, options: str, taken_s: float) -> Transcript:
        """Stitch what was heard.

        Args:
            spec: The model that heard it.
            options: Fingerprint of everything that can change the text.
            taken_s: Seconds from the opening of the file to the last hypothesis.
        """
        segments = stitch_trials(self.review.outcome if self.review else ())
        segments = tuple(sorted(segments, key=lambda segment: segment.start_s))
        speech_samples = count_covered(self.segments)
        num_samples = self.closed.num_samples if self.closed else speech_samples
        skipped_samples = num_samples - speech_samples
        flags = {flag for segment in segments for flag in segment.flags}
        if flags - {RETRIED}:
            flags.add(NEEDS_REVIEW)
        if skipped_samples > MANY_SKIPPED * num_samples:
            flags.add("mostly_skipped")
        return Transcript(
            **whose(self.recording),
            id=self.recording_id,
            duration_s=round(num_samples / SAMPLE_RATE, 6),
            speech_s=round(speech_samples / SAMPLE_RATE, 6),
            skipped_s=round(skipped_samples / SAMPLE_RATE, 6),
            language=main_language(segments),
            text=join_texts(segments),
            segments=segments,
            flags=tuple(sorted(flags.union(self.closed.flags if self.closed else ()))),
            model=spec.name,
            engine=spec.engine,
            options=options,
            rtf=round(taken_s * SAMPLE_RATE / num_samples, 6),
        )


def count_covered(segments: Iterable[Segment]) -> int:
    """Samples that lie in a segment; where channels are heard apart, in one of any channel."""
    num_samples = end = 0
    for start, stop in sorted((s.start_sample, s.start_sample + s.num_samples) for s in segments):
        num_samples += max(0, stop - max(start, end))
        end = max(end, stop)
    return num_samples


def stitch_trials(trials: Iterable[Trial]) -> tuple[TranscriptSegment, ...]:
    """The pieces of the best tries, flagged with what speaks against them."""
    return tuple(
        stitch_segment(segment, hypothesis, (*verdicts, *([RETRIED] if trial.rung else [])))
        for trial in trials
        for (segment, hypothesis), verdicts in zip(trial.pieces, trial.verdicts, strict=True)
    )


def whose(recording: Recording) -> dict[str, Any]:
    """Fields of a transcript that come from the file, not from what was heard in it."""
    source, info = recording.source, recording.info
    return {
        "path": source.name,
        "size_bytes": info.num_bytes,
        "mtime_ns": info.mtime_ns,
        "session": source.session,
        "channel": source.channel,
        "offset_s": source.offset_s,
        "root": root_digest(source.root),
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
