"""Tell channels of their own from those that only repeat another one."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from asrbatch.blocks import regroup
from asrbatch.data import SAMPLE_RATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from asrbatch.data import Waveform

BLOCK_SAMPLES = 1 << 17
"""8 s: long against any delay, short in memory."""

MAX_DELAY_SAMPLES = SAMPLE_RATE // 10
"""An echo comes within 100 ms; the delay of a telephone line is that long."""

ECHO_CORRELATION = 0.8
"""Two voices of their own reach 0.1 over a minute; one voice with noise 4 dB below it, 0.85."""


def find_echoes(channels: Sequence[Iterable[Waveform]]) -> frozenset[int]:
    """Channels that only repeat another one, later, quieter or the same.

    The cross-correlation is summed over the recording, so that what two voices have in common by
    chance cancels out, and its highest peak is held against the energy of both.

    Args:
        channels: Consecutive waveforms of each channel, float32, 16 kHz; all of one length.

    Returns:
        Positions; of two that are alike the quieter one, or the later of equals. At most one
        block of each channel is held at any time.
    """
    pairs = list(combinations(range(len(channels)), 2))
    energies = np.zeros(len(channels))
    sums = {pair: np.zeros(2 * BLOCK_SAMPLES) for pair in pairs}
    streams = (regroup(blocks, BLOCK_SAMPLES) for blocks in channels)
    for waveforms in zip(*streams, strict=False):
        spectra = [np.fft.rfft(waveform, 2 * BLOCK_SAMPLES) for waveform in waveforms]
        energies += [float(np.dot(waveform, waveform)) for waveform in waveforms]
        for left, right in pairs:
            sums[left, right] += np.fft.irfft(spectra[left] * spectra[right].conj())
    echoes: set[int] = set()
    for left, right in pairs:
        scale = np.sqrt(energies[left] * energies[right])
        lags = np.concatenate(
            (sums[left, right][:MAX_DELAY_SAMPLES], sums[left, right][-MAX_DELAY_SAMPLES:])
        )
        if scale and np.abs(lags).max() > ECHO_CORRELATION * scale and left not in echoes:
            echoes.add(right if energies[left] >= energies[right] else left)
    return frozenset(echoes)
