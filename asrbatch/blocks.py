"""Samples in blocks of another length, and frames in runs of equals."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from asrbatch.data import Waveform


def regroup(blocks: Iterable[Waveform], num_samples: int) -> Iterator[Waveform]:
    """The same samples in blocks of `num_samples`, the last one shorter."""
    held: list[Waveform] = []
    held_samples = 0
    for block in blocks:
        held.append(block)
        held_samples += len(block)
        if held_samples < num_samples:
            continue
        joined = np.concatenate(held)
        whole = held_samples // num_samples * num_samples
        for start in range(0, whole, num_samples):
            yield joined[start : start + num_samples]
        held, held_samples = [joined[whole:].copy()], held_samples - whole
    if held_samples:
        yield np.concatenate(held)


def runs_of(mask: NDArray[np.bool_]) -> Iterator[tuple[int, int, bool]]:
    """Half-open bounds of each run of equals, and what they equal."""
    edges = [0, *(np.flatnonzero(np.diff(mask)) + 1).tolist(), len(mask)]
    for first, last in pairwise(edges):
        if first < last:
            yield first, last, bool(mask[first])
