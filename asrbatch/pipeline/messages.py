"""What the front end tells the main thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from asrbatch.data import Failure, Features, Recording, Segment, Waveform


@dataclass(frozen=True, slots=True)
class Opened:
    """A recording that the model must hear."""

    recording: Recording
    recording_id: str
    opened_at: float


@dataclass(frozen=True, slots=True)
class Ready:
    """A segment for the engine."""

    segment: Segment
    audio: Waveform | Features
    """In the arena, where its room is given back when nothing refers to it any more, or in the
    memory of the feature store."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The end of a recording: every segment of it has been handed over."""

    recording: Recording
    flags: tuple[str, ...]
    """Of the decoder."""
    num_samples: int
    """Of the whole recording, what was left out included."""
    decode_s: float
    tier: str | None
    """Where its features were, `memory` or `disk`; None where they were computed."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A recording that could not be decoded."""

    recording: Recording
    failure: Failure


@dataclass(frozen=True, slots=True)
class Known:
    """A recording whose text is known already."""

    recording: Recording
    recording_id: str
    answer: bytes | None
    """From the result cache; None where this very file was done by an earlier run."""


@dataclass(frozen=True, slots=True)
class Unheard:
    """A segment that could not be decoded once more."""

    recording: Recording
    segment: Segment


Message: TypeAlias = Opened | Ready | Closed | Known | Failed | Unheard
