"""Reading Whisper's timestamps: what it transcribed of a window, and where it wants to go on.

Without timestamps Whisper stops early where sentences repeat or pauses are long, and what follows
is lost without a sign. With them it says how far it came, and the rest is asked for again
(openai/whisper, `transcribe.py`, the seek loop); its word that nothing follows is held against the
sound that does.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from asrbatch.data import SAMPLE_RATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from asrbatch.data import Segment, Waveform

SAMPLES_PER_TIMESTAMP = 320
"""Timestamps count 20 ms steps."""

AUDIBLE_SHARE = 0.1
"""A frame counts as sound where its RMS is at most 20 dB below the loud parts of the segment."""

GO_ON_FRAMES = 10
"""Less than 200 ms of sound is not asked for again: of a breath Whisper makes words."""

DOUBT_END_FRAMES = 75
"""Where Whisper says that nothing follows, 1.5 s of sound say otherwise; less may be a timestamp
that is a little early."""


HEARD_OUT_SAMPLES = 8 * SAMPLE_RATE
"""What is left of a segment and shorter holds one or two sentences, of which none is left out. To
find the words of the others takes a twentieth of the engine's time (BENCHMARKS.md)."""

WORD_MARGIN_S = 0.3
"""After a word whose end is known to 0.05 s or so, and may be drawn out."""

MIN_STEP_SAMPLES = SAMPLE_RATE
"""A place nearer to the start is a word that was found wrong."""


@dataclass(slots=True)
class Window:
    """A segment on its way: Whisper may need several looks at it."""

    segment: Segment
    waveform: Waveform
    submitted: float
    start_sample: int = 0
    """How far it has been transcribed."""
    tokens: list[int] = field(default_factory=list)
    language: str | None = None
    finish_reason: str = ""
    """Empty until it is done."""
    words: list[tuple[str, float, float]] = field(default_factory=list)
    """With start and end in seconds from the start of the segment, where they are asked for."""

    def __post_init__(self) -> None:
        self.language = self.segment.language

    @property
    def rest(self) -> int:
        """Samples that have not been transcribed."""
        return len(self.waveform) - self.start_sample


@dataclass(frozen=True, slots=True)
class Heard:
    """What an answer says of its window."""

    tokens: list[int]
    """Of the text, without timestamps."""
    place: int | None
    """How far the text goes, in samples from the start of the window; None where it is not said."""
    is_end: bool
    """Whether nothing follows, as Whisper thinks."""
    score: float
    """Mean log-probability of a token."""
    ran_out: bool = False
    """Whether the decoder had no more positions for tokens."""


def parse_window(tokens: Sequence[int], timestamp_begin: int, score: float) -> Heard:
    """Split an answer into its text and the place to go on from.

    Args:
        tokens: As generated, timestamps included, the end token left out.
        timestamp_begin: Id of `<|0.00|>`.
        score: Mean log-probability of a token.

    Returns:
        Two timestamps in a row are a place where a sentence ends and the next begins; what comes
        after the last of them is left to the next window. A single one at the end is the end.
    """
    is_timestamp = [token >= timestamp_begin for token in tokens]
    pairs = [i for i in range(1, len(tokens)) if is_timestamp[i - 1] and is_timestamp[i]]
    is_end = not pairs or is_timestamp[-2:] == [False, True]
    done = tokens if is_end else tokens[: pairs[-1]]
    place = None
    if done and done[-1] >= timestamp_begin:
        place = (done[-1] - timestamp_begin) * SAMPLES_PER_TIMESTAMP
    if not place:  # it would stand still
        done, place, is_end = tokens, None, True
    return Heard([token for token in done if token < timestamp_begin], place, is_end, score)


def hear_out(heard: Heard, last_word_s: float, rest: Waveform, segment: Waveform) -> Heard:
    """Hold an answer's word on how far it came against where its last word was said.

    Where voices change Whisper leaves out a sentence, and says that it came to the end.

    Args:
        heard: The answer.
        last_word_s: End of its last word, in seconds from the start of the window.
        rest: The waveform from the start of the window on.
        segment: The whole of it, for how loud it is.

    Returns:
        The answer; with the place after its last word where 1.5 s of sound follow.
    """
    place = round((last_word_s + WORD_MARGIN_S) * SAMPLE_RATE)
    said = len(rest) if heard.place is None else min(heard.place, len(rest))
    if not MIN_STEP_SAMPLES <= place < said:
        return heard
    if _num_audible(rest[place:said], segment) < DOUBT_END_FRAMES:
        return heard
    return replace(heard, place=place, is_end=False)


def must_go_on(heard: Heard, rest: Waveform, segment: Waveform) -> bool:
    """Whether the rest of a segment, from the place on, holds sound worth asking for."""
    if heard.place is None or len(segment) < SAMPLES_PER_TIMESTAMP:
        return False
    return _num_audible(rest, segment) >= (DOUBT_END_FRAMES if heard.is_end else GO_ON_FRAMES)


def _num_audible(waveform: Waveform, segment: Waveform) -> int:
    """Frames with sound, as loud as it is in this segment."""
    loud = float(np.percentile(_rms(segment), 95))
    return int(np.count_nonzero(_rms(waveform) > AUDIBLE_SHARE * loud))


def _rms(waveform: Waveform) -> NDArray[np.floating[Any]]:
    whole = len(waveform) // SAMPLES_PER_TIMESTAMP * SAMPLES_PER_TIMESTAMP
    frames = waveform[:whole].reshape(-1, SAMPLES_PER_TIMESTAMP)
    return np.sqrt(np.mean(frames * frames, axis=1)) if len(frames) else np.zeros(0)
