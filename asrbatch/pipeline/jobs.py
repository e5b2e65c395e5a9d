"""What the main process asks of its workers, and what they reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from asrbatch.data import Segment

if TYPE_CHECKING:
    from pathlib import Path

    from asrbatch.arena import Slot
    from asrbatch.data import (
        AudioInfo,
        Failure,
        FeatureSpan,
        MelParams,
        RawFormat,
        Recording,
        Source,
        SpeechParams,
    )


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What a worker is told once."""

    arena_bytes: int
    place: int
    """Which of the workers it is."""
    region: tuple[int, int]
    """First byte of its part of the arena, and the one after it."""
    held: tuple[Slot, ...]
    """Slots of the region that are still read: a worker before this one filled them."""
    chunk_samples: int
    mel: MelParams | None
    """Features that the model takes; None where it takes the waveform."""
    raw_format: RawFormat | None
    speech: SpeechParams | None
    """What to leave out; None leaves nothing out."""
    max_feature_bytes: int
    """Of a file of features."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Read the headers of some sources."""

    first: int
    """Position of the first of them among all."""
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Identify:
    """Hash a file."""

    index: int
    """Position of the recording in the plan."""
    recording: Recording


@dataclass(frozen=True, slots=True)
class Decode:
    """Decode, cut and compute features."""

    index: int
    recording: Recording
    language: str | None
    context: str | None
    channels: tuple[int | None, ...]
    """To be heard apart; None is the mean of all."""
    features: Path | None
    """Where its features are kept, or will be; None keeps none."""

    def segment(self, index: int, span: FeatureSpan) -> Segment:
        """A segment of the recording."""
        source = self.recording.source
        return Segment(
            recording_id=source.key,
            index=index,
            start_sample=source.start_sample + span.start_sample,
            num_samples=span.num_samples,
            cut=span.cut,
            language=self.language,
            # Of a context that it is given with silence, a model makes a text.
            context=None if span.speech_samples == 0 else self.context,
            speech_samples=span.speech_samples,
            channel=span.channel,
        )


@dataclass(frozen=True, slots=True)
class Again:
    """Decode one segment once more, whole or cut in two."""

    index: int
    """Below 0, and different for each."""
    recording: Recording
    segment: Segment
    """As it is to be heard; the second half counts one further down."""
    is_split: bool


@dataclass(frozen=True, slots=True)
class Probed:
    """Answers a `Probe`."""

    first: int
    infos: tuple[AudioInfo | Failure, ...]


@dataclass(frozen=True, slots=True)
class Identified:
    """Answers an `Identify`."""

    index: int
    recording_id: str
    """BLAKE3 of the bytes, with the part that is meant."""


@dataclass(frozen=True, slots=True)
class Produced:
    """A segment lies in the arena; more follow for the same `Decode`."""

    index: int
    segment: Segment
    slot: Slot


@dataclass(frozen=True, slots=True)
class Decoded:
    """Answers a `Decode` or an `Again`: every segment has been handed over."""

    index: int
    flags: tuple[str, ...]
    """Of the decoder."""
    num_samples: int
    """Of the whole recording, what was left out included."""
    decode_s: float
    """Seconds at work, waiting for room not counted."""
    recalled: bool
    """Whether its features were on disk."""
    written_bytes: int = 0
    """Of the features that are there now."""
    write_error: str = ""
    """Why they are not."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Answers any job but a `Probe`: the recording, or the segment, cannot be had."""

    index: int
    failure: Failure


Job: TypeAlias = Probe | Identify | Decode | Again
Reply: TypeAlias = Probed | Identified | Produced | Decoded | Refused
