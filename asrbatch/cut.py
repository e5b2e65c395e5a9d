"""Cut a recording into segments of at most the chunk limit, as its blocks arrive.

The cut is searched backwards only, from the limit, so that the maximum is a maximum (the
search around the limit in QwenLM/Qwen3-ASR lets segments exceed it by 5 s). Segments tile
the recording to the sample: no gap, no overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from asrbatch.data import SAMPLE_RATE
from asrbatch.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from asrbatch.data import Cut, Waveform

FRAME_SAMPLES = SAMPLE_RATE // 50
"""Step of the loudness curve: 20 ms."""

MIN_PAUSE_FRAMES = 8
"""Shortest pause: 160 ms; stops of plosives are shorter."""

SEARCH_SHARE = 0.5
"""Share of the limit that is searched, counted back from its end."""

PAUSE_BELOW_SPEECH = 0.1
"""A frame is a pause where its RMS is 20 dB below the loud parts of the searched span."""

SILENCE_RMS = 1e-4
"""-80 dBFS: a pause whatever the rest is like."""

MIN_CHUNK_SECONDS = 2.0
"""Below this, half the limit holds too little to find a pause in."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a recording with its samples."""

    start_sample: int
    waveform: Waveform
    """Shape (T,), float32, 16 kHz mono."""
    cut: Cut


def cut(blocks: Iterable[Waveform], chunk_samples: int) -> Iterator[Span]:
    """Cut a stream of blocks into spans of at most `chunk_samples`.

    Args:
        blocks: Consecutive waveforms of any length, float32, 16 kHz mono.
        chunk_samples: The limit, in samples.

    Yields:
        Spans in order; their waveforms joined are the blocks joined. At most one span's worth
        of samples and one block are held at any time. Nothing for no samples.

    Raises:
        ConfigError: The limit is under `MIN_CHUNK_SECONDS`.
    """
    if chunk_samples < MIN_CHUNK_SECONDS * SAMPLE_RATE:
        msg = (
            f"chunk seconds: {chunk_samples / SAMPLE_RATE:g} is too short to find a pause in; "
            f"give at least {MIN_CHUNK_SECONDS:g}"
        )
        raise ConfigError(msg)
    start = 0
    held: list[Waveform] = []
    held_samples = 0
    for block in blocks:
        held.append(block)
        held_samples += len(block)
        if held_samples <= chunk_samples:
            continue
        waveform = np.concatenate(held)
        while len(waveform) > chunk_samples:
            at, reason = find_cut(waveform[:chunk_samples])
            yield Span(start, waveform[:at].copy(), reason)
            start += at
            waveform = waveform[at:]
        held, held_samples = [waveform.copy()], len(waveform)
    if held_samples:
        yield Span(start, np.concatenate(held), "end")


def find_cut(waveform: Waveform) -> tuple[int, Cut]:
    """Find where to end a segment that may hold all of `waveform`.

    The middle of the longest pause in the second half, the later one of two; where there is no
    pause, the middle of the quietest 100 ms.

    Args:
        waveform: Shape (T,), float32; more samples follow it.

    Returns:
        Number of samples to keep, in (0, T], and the reason.
    """
    searched = int(len(waveform) * SEARCH_SHARE) // FRAME_SAMPLES * FRAME_SAMPLES
    offset = len(waveform) - searched
    frames = waveform[offset:].reshape(-1, FRAME_SAMPLES).astype(np.float64)
    rms = np.sqrt(np.mean(frames * frames, axis=1))
    loud = float(np.percentile(rms, 95))
    pause = _longest_run(rms <= max(SILENCE_RMS, PAUSE_BELOW_SPEECH * loud))
    if pause is not None and pause[1] - pause[0] >= MIN_PAUSE_FRAMES:
        return offset + (pause[0] + pause[1]) * FRAME_SAMPLES // 2, "pause"
    window = np.convolve(rms * rms, np.ones(5), mode="valid")
    quietest = len(window) - 1 - int(np.argmin(window[::-1]))
    return offset + (2 * quietest + 5) * FRAME_SAMPLES // 2, "quiet"


def _longest_run(mask: np.ndarray) -> tuple[int, int] | None:
    """Half-open bounds of the longest run of True, the last one of equals."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False]))))
    if not len(edges):
        return None
    starts, ends = edges[::2], edges[1::2]
    lengths = ends - starts
    best = len(lengths) - 1 - int(np.argmax(lengths[::-1]))
    return int(starts[best]), int(ends[best])
