"""Turn native blocks into 16 kHz mono."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from asrbatch.data import SAMPLE_RATE
from asrbatch.errors import AudioDecodeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import soxr

    from asrbatch.data import Waveform
    from asrbatch.decode.reader import Block


def to_waveforms(
    blocks: Iterable[Block], channel: int | None, start_sample: int
) -> Iterator[Waveform]:
    """Mix and resample a stream of blocks.

    Where the rate changes, the resampler is flushed and another one starts, so that n frames
    become round(n * 16000 / rate) samples whatever the rates.

    Args:
        blocks: Consecutive blocks as the file holds them.
        channel: Channel to take, from 0; None is the mean of all.
        start_sample: Where the first block begins, at 16 kHz; only for messages.

    Yields:
        Consecutive waveforms of shape (T,), float32, 16 kHz.

    Raises:
        AudioDecodeError: A sample is not a number, or there is no such channel.
    """
    rate = SAMPLE_RATE
    resampler = None
    elapsed_s = start_sample / SAMPLE_RATE
    for block in blocks:
        if block.rate != rate:
            if resampler is not None:
                yield _flush(resampler)
            rate = block.rate
            resampler = None if rate == SAMPLE_RATE else _resampler(rate)
        mono = _mono(block.samples, channel)
        finite = np.isfinite(mono)
        if not finite.all():
            bad_s = elapsed_s + float(np.argmin(finite)) / rate
            msg = f"a sample at {bad_s:.3f} s is infinite or not a number"
            raise AudioDecodeError(msg)
        elapsed_s += len(mono) / rate
        yield mono if resampler is None else resampler.resample_chunk(mono)
    if resampler is not None:
        yield _flush(resampler)


def _mono(samples: Waveform, channel: int | None) -> Waveform:
    """Mean of the channels, or one of them; shape (T, C) to (T,)."""
    num_channels = samples.shape[1]
    if channel is not None and channel >= num_channels:
        there = "only channel 0" if num_channels == 1 else f"channels 0 to {num_channels - 1}"
        msg = f"channel {channel} is not there: the file has {there}"
        raise AudioDecodeError(msg)
    if channel is not None:
        return np.ascontiguousarray(samples[:, channel])
    if num_channels == 1:
        return samples[:, 0]
    # Channel by channel: numpy's mean over so short an axis takes four times as long.
    with np.errstate(over="ignore", invalid="ignore"):  # the caller refuses what overflows
        total = samples[:, 0] + samples[:, 1]
        for index in range(2, num_channels):
            total += samples[:, index]
    return total / np.float32(num_channels)


def _resampler(rate: int) -> soxr.ResampleStream:
    import soxr

    return soxr.ResampleStream(rate, SAMPLE_RATE, 1, dtype="float32", quality="HQ")


def _flush(resampler: soxr.ResampleStream) -> Waveform:
    """The rest of what the resampler holds back."""
    rest: Waveform = resampler.resample_chunk(np.zeros(0, dtype=np.float32), last=True)
    return rest
