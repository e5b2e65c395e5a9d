"""A recording under way, from its first segment to its transcript."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from asrbatch.data import SAMPLE_RATE, Transcript
from asrbatch.guard import judge
from asrbatch.identity import root_digest
from asrbatch.stitch import join_texts, main_language, stitch_segments

if TYPE_CHECKING:
    from asrbatch.data import Hypothesis, Recording, Segment
    from asrbatch.engines import ModelSpec
    from asrbatch.pipeline.frontend import Closed


@dataclass(slots=True)
class Assembly:
    """A recording under way."""

    recording: Recording
    recording_id: str
    opened_at: float
    segments: list[Segment] = field(default_factory=list)
    hypotheses: dict[int, Hypothesis] = field(default_factory=dict)
    closed: Closed | None = None

    @property
    def finished(self) -> bool:
        """Whether every segment has been handed over and answered."""
        return self.closed is not None and len(self.hypotheses) == len(self.segments)

    def to_transcript(self, spec: ModelSpec, options: str, taken_s: float) -> Transcript:
        """Stitch what was heard.

        Args:
            spec: The model that heard it.
            options: Fingerprint of everything that can change the text.
            taken_s: Seconds from the opening of the file to the last hypothesis.
        """
        verdicts = {s.index: judge(s, self.hypotheses[s.index]) for s in self.segments}
        segments = stitch_segments(self.segments, self.hypotheses, verdicts)
        duration_s = sum(segment.num_samples for segment in self.segments) / SAMPLE_RATE
        flags = {flag for segment in segments for flag in segment.flags}
        return Transcript(
            **whose(self.recording),
            id=self.recording_id,
            duration_s=round(duration_s, 6),
            speech_s=round(duration_s, 6),
            skipped_s=0.0,
            language=main_language(segments),
            text=join_texts(segments),
            segments=segments,
            flags=tuple(sorted(flags.union(self.closed.flags if self.closed else ()))),
            model=spec.name,
            engine=spec.engine,
            options=options,
            rtf=round(taken_s / duration_s, 6),
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
