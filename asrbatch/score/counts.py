"""Errors counted: alignment of two sequences, rates, and how sure a rate is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NUM_RESAMPLES = 1000
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Counts:
    """Of a reference and a hypothesis, or of many added up; words, or characters."""

    hits: int = 0
    substitutions: int = 0
    deletions: int = 0
    insertions: int = 0

    @property
    def length(self) -> int:
        """Of the reference."""
        return self.hits + self.substitutions + self.deletions

    @property
    def errors(self) -> int:
        """All of them."""
        return self.substitutions + self.deletions + self.insertions

    @property
    def rate(self) -> float | None:
        """Errors over length of the reference; None where that is empty."""
        return self.errors / self.length if self.length else None

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.hits + other.hits,
            self.substitutions + other.substitutions,
            self.deletions + other.deletions,
            self.insertions + other.insertions,
        )


class Stretch(NamedTuple):
    """Words that go together in an alignment."""

    kind: Literal["equal", "substitute", "delete", "insert"]
    reference: str
    hypothesis: str


def align(reference: list[str], hypothesis: list[str]) -> tuple[Counts, tuple[Stretch, ...]]:
    """Align two sequences of words with the fewest errors (jiwer)."""
    import jiwer

    if not reference or not hypothesis:
        # jiwer takes no word out of an empty reference.
        counts = Counts(deletions=len(reference), insertions=len(hypothesis))
        kind: Literal["delete", "insert"] = "delete" if reference else "insert"
        stretch = Stretch(kind, " ".join(reference), " ".join(hypothesis))
        return counts, (stretch,) if counts.errors else ()
    output = jiwer.process_words(" ".join(reference), " ".join(hypothesis))
    stretches = tuple(
        Stretch(
            chunk.type,
            " ".join(reference[chunk.ref_start_idx : chunk.ref_end_idx]),
            " ".join(hypothesis[chunk.hyp_start_idx : chunk.hyp_end_idx]),
        )
        for chunk in output.alignments[0]
    )
    return _counts(output), stretches


def count_characters(reference: str, hypothesis: str) -> Counts:
    """Errors of two texts, character by character (jiwer)."""
    import jiwer

    if not reference or not hypothesis:
        return Counts(deletions=len(reference), insertions=len(hypothesis))
    return _counts(jiwer.process_characters(reference, hypothesis))


def _counts(output: object) -> Counts:
    return Counts(*(getattr(output, name) for name in Counts.__slots__))


def total(counts: Iterable[Counts]) -> Counts:
    """All added up, so that a corpus' rate is sum over sum."""
    return sum(counts, Counts())


def confidence_interval(counts: Sequence[Counts]) -> tuple[float, float] | None:
    """Where the corpus' rate lies, were other files like these drawn (Bisani and Ney 2004).

    The bootstrap draws whole files, since errors in one file go together.

    Args:
        counts: Of each file.

    Returns:
        Bounds of the middle `CONFIDENCE` of `NUM_RESAMPLES` draws, the same ones each time; None
        where no file has a reference of any length.
    """
    errors = np.array([one.errors for one in counts])
    lengths = np.array([one.length for one in counts])
    if not lengths.any():
        return None
    random = np.random.default_rng(0)
    rates = []
    for _ in range(NUM_RESAMPLES):
        drawn = random.integers(len(counts), size=len(counts))
        if length := lengths[drawn].sum():
            rates.append(errors[drawn].sum() / length)
    outside = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(rates, [outside, 100 - outside])
    return float(low), float(high)
