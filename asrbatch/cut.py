"""Cut a recording into segments of at most the chunk limit, as its blocks arrive.

The cut is searched backwards only, from the limit, so that the maximum is a maximum (the
search around the limit in QwenLM/Qwen3-ASR lets segments exceed it by 5 s). Segments tile
what is given to the sample: no gap but where a stretch without speech is left out, no overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from asrbatch.blocks import runs_of
from asrbatch.data import SAMPLE_RATE, Block
from asrbatch.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from asrbatch.data import Cut, Waveform

FRAME_SAMPLES = SAMPLE_RATE // 50
"""Step of the loudness curve: 20 ms."""

MIN_PAUSE_FRAMES = 8
"""Shortest pause: 160 ms; stops of plosives are shorter."""

QUIET_FRAMES = 3
"""The quietest 60 ms, where there is no pause: a gap between words of fluent speech is as short; with
100 ms one cut in eight is in a word (BENCHMARKS.md)."""

SEARCH_SHARE = 0.5
"""Share of the limit that is searched, counted back from its end."""

PAUSE_BELOW_SPEECH = 0.1
"""A frame is a pause where its RMS is 20 dB below the loud parts of the searched span."""

FLOOR_FACTOR = 2.0
"""A frame is at the floor of a pause up to 6 dB above the quietest one."""

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
    speech_samples: int | None = None
    """Among its samples; None where nobody looked for speech."""


def cut(blocks: Iterable[Block], chunk_samples: int) -> Iterator[Span]:
    """Cut a stream of blocks into spans of at most `chunk_samples`.

    Args:
        blocks: In order; where one does not begin at the end of the one before, a span ends.
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
    tape = _Tape()
    for block in blocks:
        if tape.num_samples and block.start_sample != tape.start_sample + tape.num_samples:
            yield tape.take(tape.num_samples, "pause")
        tape.add(block)
        while tape.num_samples > chunk_samples:
            waveform, is_speech = tape.join()
            head = None if is_speech is None else is_speech[:chunk_samples]
            yield tape.take(*find_cut(waveform[:chunk_samples], head))
    if tape.num_samples:
        yield tape.take(tape.num_samples, "end")


def split(waveform: Waveform, is_speech: NDArray[np.bool_] | None) -> tuple[Span, Span]:
    """Cut a segment in two, at the best pause between three and six eighths of it.

    Args:
        waveform: Shape (T,), float32.
        is_speech: Shape (T,); None where nobody looked.

    Returns:
        Two spans that tile it; the second one ends where the segment does.
    """
    end = len(waveform) * 3 // 4
    at, reason = find_cut(waveform[:end], None if is_speech is None else is_speech[:end])
    counts = (
        (None, None)
        if is_speech is None
        else (int(np.count_nonzero(is_speech[:at])), int(np.count_nonzero(is_speech[at:])))
    )
    return Span(0, waveform[:at], reason, counts[0]), Span(at, waveform[at:], "end", counts[1])


class _Tape:
    """Blocks that follow each other."""

    def __init__(self) -> None:
        self.start_sample = 0
        self.num_samples = 0
        self._blocks: list[Block] = []

    def add(self, block: Block) -> None:
        """Hold one more."""
        if not self._blocks:
            self.start_sample = block.start_sample
        self._blocks.append(block)
        self.num_samples += len(block.waveform)

    def join(self) -> tuple[Waveform, NDArray[np.bool_] | None]:
        """All that is held, and where in it is speech."""
        if len(self._blocks) > 1:
            speech = [b.is_speech for b in self._blocks if b.is_speech is not None]
            self._blocks = [
                Block(
                    self.start_sample,
                    np.concatenate([block.waveform for block in self._blocks]),
                    np.concatenate(speech) if speech else None,
                )
            ]
        return self._blocks[0].waveform, self._blocks[0].is_speech

    def take(self, num_samples: int, reason: Cut) -> Span:
        """Let go of the first samples."""
        waveform, is_speech = self.join()
        start = self.start_sample
        rest = None if is_speech is None else is_speech[num_samples:].copy()
        self._blocks = [Block(start + num_samples, waveform[num_samples:].copy(), rest)]
        self.start_sample += num_samples
        self.num_samples -= num_samples
        if not self.num_samples:
            self._blocks = []
        num_spoken = None if is_speech is None else int(np.count_nonzero(is_speech[:num_samples]))
        return Span(start, waveform[:num_samples].copy(), reason, num_spoken)


def find_cut(waveform: Waveform, is_speech: NDArray[np.bool_] | None = None) -> tuple[int, Cut]:
    """Find where to end a segment that may hold all of `waveform`.

    The quiet middle of the longest pause in the second half, the later one of two; where there is no
    pause, the middle of the quietest 60 ms. A pause is quiet, or holds no speech: the first is
    found to 20 ms, the second also where it is noisy.

    Args:
        waveform: Shape (T,), float32; more samples follow it.
        is_speech: Shape (T,); None where nobody looked.

    Returns:
        Number of samples to keep, in (0, T], and the reason.
    """
    searched = int(len(waveform) * SEARCH_SHARE) // FRAME_SAMPLES * FRAME_SAMPLES
    offset = len(waveform) - searched
    frames = waveform[offset:].reshape(-1, FRAME_SAMPLES).astype(np.float64)
    rms = np.sqrt(np.mean(frames * frames, axis=1))
    loud = float(np.percentile(rms, 95))
    is_pause = rms <= max(SILENCE_RMS, PAUSE_BELOW_SPEECH * loud)
    if is_speech is not None:
        spoken = is_speech[offset:].reshape(-1, FRAME_SAMPLES).any(axis=1)
        is_pause |= ~spoken
    pause = _longest_run(is_pause)
    if pause is not None and pause[1] - pause[0] >= MIN_PAUSE_FRAMES:
        first, last = pause
        # The soft end of a word is in it too, and speech is found late: where it is at its quietest.
        floor = max(SILENCE_RMS, FLOOR_FACTOR * float(rms[first:last].min()))
        quiet = _longest_run(rms[first:last] <= floor) or (0, last - first)
        return offset + (2 * first + sum(quiet)) * FRAME_SAMPLES // 2, "pause"
    window = np.convolve(rms * rms, np.ones(QUIET_FRAMES), mode="valid")
    quietest = len(window) - 1 - int(np.argmin(window[::-1]))
    return offset + (2 * quietest + QUIET_FRAMES) * FRAME_SAMPLES // 2, "quiet"


def _longest_run(mask: NDArray[np.bool_]) -> tuple[int, int] | None:
    """Half-open bounds of the longest run of True, the last one of equals."""
    runs = [(first, last) for first, last, is_true in runs_of(mask) if is_true]
    return max(runs, key=lambda run: (run[1] - run[0], run[0]), default=None)
