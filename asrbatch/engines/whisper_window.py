"""Reading Whisper's timestamps: what it transcribed of a window, and where it wants to go on.

Without timestamps Whisper stops early where sentences repeat or pauses are long, and what follows
is lost without a sign. With them it says how far it came, and the rest is asked for again
(openai/whisper, `transcribe.py`, the seek loop).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from asrbatch.data import Waveform

SAMPLES_PER_TIMESTAMP = 320
"""Timestamps count 20 ms steps."""

AUDIBLE_SHARE = 0.1
"""A frame counts as sound where its RMS is at most 20 dB below the loud parts of the segment."""

MIN_AUDIBLE_FRAMES = 10
"""Less than 200 ms of sound is not asked for again: of a breath Whisper makes words."""


def parse_window(tokens: Sequence[int], timestamp_begin: int) -> tuple[list[int], int | None]:
    """Split an answer into its text and the place to go on from.

    Args:
        tokens: As generated, timestamps included, the end token left out.
        timestamp_begin: Id of `<|0.00|>`.

    Returns:
        Text tokens up to the place, and the place in samples from the start of the window; None
        where the window was transcribed to its end.
    """
    is_timestamp = [token >= timestamp_begin for token in tokens]
    pairs = [i for i in range(1, len(tokens)) if is_timestamp[i - 1] and is_timestamp[i]]
    ends_in_one = is_timestamp[-2:] == [False, True]
    done = tokens[: pairs[-1]] if pairs and not ends_in_one else tokens
    place = (done[-1] - timestamp_begin) * SAMPLES_PER_TIMESTAMP if done is not tokens else 0
    if place <= 0:
        return [token for token in tokens if token < timestamp_begin], None
    return [token for token in done if token < timestamp_begin], place


def is_audible(rest: Waveform, segment: Waveform) -> bool:
    """Whether the rest of a segment holds sound worth asking for."""
    loud = float(np.percentile(_rms(segment), 95)) if len(segment) >= SAMPLES_PER_TIMESTAMP else 0.0
    frames = _rms(rest)
    return loud > 0 and int(np.count_nonzero(frames > AUDIBLE_SHARE * loud)) >= MIN_AUDIBLE_FRAMES


def _rms(waveform: Waveform) -> NDArray[np.floating[Any]]:
    whole = len(waveform) // SAMPLES_PER_TIMESTAMP * SAMPLES_PER_TIMESTAMP
    frames = waveform[:whole].reshape(-1, SAMPLES_PER_TIMESTAMP)
    return np.sqrt(np.mean(frames * frames, axis=1)) if len(frames) else np.zeros(0)
