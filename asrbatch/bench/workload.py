"""Speech-like audio of a stated distribution of lengths, the same for the same seed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from asrbatch.data import SAMPLE_RATE
from asrbatch.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from asrbatch.data import Waveform

KINDS = {"fixed": 1, "uniform": 2, "lognormal": 2}
"""Distributions, and how many numbers each takes."""

FORMANTS_HZ = (500, 1500, 2500)
"""Of a neutral vowel (Fant, 1960)."""

SYLLABLES_PER_S = 4


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long clips are."""

    kind: str
    """`fixed`, `uniform` (from, to) or `lognormal` (median, sigma)."""
    numbers: tuple[float, ...]
    """Seconds; sigma has no unit."""

    def __str__(self) -> str:
        return f"{self.kind}:{','.join(f'{number:g}' for number in self.numbers)}"

    def draw_s(self, random: Random) -> float:
        """One length in seconds, at least a tenth."""
        if self.kind == "fixed":
            return self.numbers[0]
        if self.kind == "uniform":
            return random.uniform(*self.numbers)
        median_s, sigma = self.numbers
        return max(0.1, random.lognormvariate(math.log(median_s), sigma))


def parse_lengths(text: str) -> Lengths:
    """Read a distribution.

    Args:
        text: For example `uniform:1,30`, `fixed:30` or `lognormal:7.5,0.6`.

    Raises:
        ConfigError: It is none.
    """
    kind, _, rest = text.partition(":")
    try:
        numbers = tuple(float(number) for number in rest.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) != KINDS.get(kind) or not all(0 < n < math.inf for n in numbers):
        msg = (
            f"lengths: {text!r} is no distribution; give fixed:SECONDS, uniform:FROM,TO or "
            "lognormal:MEDIAN,SIGMA, such as uniform:1,30"
        )
        raise ConfigError(msg)
    return Lengths(kind, numbers)


def generate_clips(folder: Path, lengths: Lengths, count: int, seed: int = 0) -> float:
    """Write clips as 16 kHz FLAC.

    Args:
        folder: Where to.
        lengths: Their distribution.
        count: How many.
        seed: The same seed makes the same clips.

    Returns:
        Seconds of audio in all.
    """
    import soundfile

    random = Random(seed)
    num_samples = 0
    for index in range(count):
        waveform = speech_like(round(lengths.draw_s(random) * SAMPLE_RATE), random.random())
        soundfile.write(folder / f"clip-{index:05}.flac", waveform, SAMPLE_RATE)
        num_samples += len(waveform)
    return num_samples / SAMPLE_RATE


def speech_like(num_samples: int, seed: float) -> Waveform:
    """A buzz with formants in syllables and pauses: what codecs, cuts and features meet.

    Args:
        num_samples: At 16 kHz.
        seed: Makes it a voice of its own.
    """
    random = np.random.default_rng(int(seed * 2**32))
    t = np.arange(num_samples) / SAMPLE_RATE
    pitch_hz = random.uniform(90, 240) * (1 + 0.1 * np.sin(2 * np.pi * 0.7 * t + seed))
    phase = 2 * np.pi * np.cumsum(pitch_hz) / SAMPLE_RATE
    voice = sum(
        np.exp(-(((harmonic * pitch_hz[:, None] - FORMANTS_HZ) / 300) ** 2)).sum(axis=1)
        * np.sin(harmonic * phase)
        for harmonic in range(1, 16)
    )
    syllables = np.maximum(0, np.sin(np.pi * SYLLABLES_PER_S * t + random.uniform(0, np.pi)))
    spoken = np.repeat(random.random(num_samples // SAMPLE_RATE + 1) > 0.15, SAMPLE_RATE)
    noise = random.normal(0, 0.002, num_samples)
    return np.asarray(0.1 * voice * syllables * spoken[:num_samples] + noise, dtype=np.float32)
