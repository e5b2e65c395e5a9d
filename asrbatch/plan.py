"""Pack recordings into batches of like duration under a budget; pure, no files, no numpy.

A recording longer than the chunk limit will be cut, so it is planned in equal pieces of at most
that limit. Batches bound how much decoded audio lies in memory and keep like with like; they
are an order of work, not barriers.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from asrbatch.data import SAMPLE_RATE
from asrbatch.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


MAX_BATCH_S = 1_000_000
"""As float32 that is 64 GB."""


@dataclass(frozen=True, slots=True)
class BatchBudget:
    """What no batch may exceed."""

    max_audio_s: float = 3600.0
    """Sum of the durations; an hour of 16 kHz float32 is 230 MB."""
    max_count: int = 512
    max_padding_ratio: float = 1.2
    """Longest x count / sum: 1.0 is no padding at all."""

    def __post_init__(self) -> None:
        if not 0 < self.max_audio_s <= MAX_BATCH_S:
            msg = f"batch seconds: {self.max_audio_s} is not above 0 and up to {MAX_BATCH_S:,}"
            raise ConfigError(msg)
        if self.max_count < 1:
            msg = f"batch count: {self.max_count} must be at least 1"
            raise ConfigError(msg)
        if not self.max_padding_ratio >= 1:
            msg = (
                f"padding ratio: {self.max_padding_ratio} must be at least 1.0, which is no padding"
            )
            raise ConfigError(msg)

    def require_room_for(self, chunk_samples: int) -> None:
        """Raise ConfigError if one piece alone could exceed the budget."""
        if chunk_samples > self.max_audio_s * SAMPLE_RATE:
            msg = (
                f"batch seconds: {self.max_audio_s:g} is less than one segment of "
                f"{chunk_samples / SAMPLE_RATE:g} s; raise it or lower --chunk-seconds"
            )
            raise ConfigError(msg)


@dataclass(frozen=True, slots=True)
class Piece:
    """A planned part of a recording; where it is really cut, the audio decides."""

    recording: int
    """Position of the recording in the list that was planned."""
    num_samples: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Pieces of like duration, within the budget."""

    bucket: int
    pieces: tuple[Piece, ...]

    @property
    def num_samples(self) -> int:
        """Sum of the durations, in samples."""
        return sum(piece.num_samples for piece in self.pieces)

    @property
    def padding_ratio(self) -> float:
        """Longest x count / sum, as if every piece were padded to the longest."""
        return max(p.num_samples for p in self.pieces) * len(self.pieces) / self.num_samples


@dataclass(frozen=True, slots=True)
class Plan:
    """Batches in the order of work."""

    batches: tuple[Batch, ...]
    bucket_edges_s: dict[int, tuple[float, float]]
    """Half-open duration interval [low, high) of each bucket that is used."""

    def recording_order(self) -> Iterator[int]:
        """Positions of the recordings, each once, in the order in which they are begun."""
        yield from dict.fromkeys(p.recording for batch in self.batches for p in batch.pieces)

    @property
    def num_samples(self) -> int:
        """Planned audio, in samples."""
        return sum(batch.num_samples for batch in self.batches)

    @property
    def padding_ratio(self) -> float:
        """Padded over real audio, over all batches; 1.0 for an empty plan."""
        padded = sum(batch.padding_ratio * batch.num_samples for batch in self.batches)
        return padded / self.num_samples if self.num_samples else 1.0

    def bucket_counts(self) -> Counter[int]:
        """Number of pieces in each bucket."""
        return Counter(batch.bucket for batch in self.batches for _ in batch.pieces)


def plan_batches(durations: Sequence[int | None], budget: BatchBudget, chunk_samples: int) -> Plan:
    """Plan recordings of the given durations.

    Recordings longer than `chunk_samples` go first, longest first, so that none of them is
    begun when everything else is done; the rest keep their order, since a fully sorted queue
    runs in waves that stop prefill and decode from mixing.

    Args:
        durations: Length of each recording in samples at 16 kHz; None where it is not known,
            which is planned as one piece of `chunk_samples`.
        budget: Limits that hold for each batch.
        chunk_samples: Longest piece.

    Returns:
        A plan that holds each sample of each recording exactly once. A recording of no
        samples has no piece.

    Raises:
        ConfigError: One piece alone could exceed the budget.
    """
    budget.require_room_for(chunk_samples)
    lengths = [chunk_samples if d is None else d for d in durations]
    long = [i for i, n in enumerate(lengths) if n > chunk_samples]
    short = [i for i, n in enumerate(lengths) if 0 < n <= chunk_samples]
    long.sort(key=lambda i: -lengths[i])
    ratio = _bucket_ratio(budget.max_padding_ratio)
    batches = [
        batch
        for group in (long, short)
        for batch in _pack(_pieces(group, lengths, chunk_samples), budget, ratio)
    ]
    edges = {b: _bucket_edges_s(b, ratio) for b in sorted({batch.bucket for batch in batches})}
    return Plan(tuple(batches), edges)


def _pieces(group: Sequence[int], lengths: Sequence[int], chunk_samples: int) -> Iterator[Piece]:
    """Split each recording into as few equal pieces as fit; they differ by one sample at most."""
    for recording in group:
        count = math.ceil(lengths[recording] / chunk_samples)
        size, rest = divmod(lengths[recording], count)
        for i in range(count):
            yield Piece(recording, size + (i < rest))


@dataclass(slots=True)
class _OpenBatch:
    bucket: int
    pieces: list[Piece] = field(default_factory=list)
    num_samples: int = 0
    longest: int = 0

    def fits(self, piece: Piece, budget: BatchBudget) -> bool:
        count = len(self.pieces) + 1
        total = self.num_samples + piece.num_samples
        longest = max(self.longest, piece.num_samples)
        return (
            count <= budget.max_count
            and total <= budget.max_audio_s * SAMPLE_RATE
            and longest * count <= budget.max_padding_ratio * total
        )

    def add(self, piece: Piece) -> None:
        self.pieces.append(piece)
        self.num_samples += piece.num_samples
        self.longest = max(self.longest, piece.num_samples)


def _pack(pieces: Iterator[Piece], budget: BatchBudget, ratio: float) -> Iterator[Batch]:
    """Fill one open batch per bucket; a batch is closed before it would exceed its budget.

    Batches come in the order of their first pieces.
    """
    open_batches: dict[int, _OpenBatch] = {}
    in_order: list[_OpenBatch] = []
    for piece in pieces:
        bucket = _bucket(piece.num_samples, ratio)
        batch = open_batches.get(bucket)
        if batch is None or not batch.fits(piece, budget):
            batch = open_batches[bucket] = _OpenBatch(bucket)
            in_order.append(batch)
        batch.add(piece)
    return (Batch(batch.bucket, tuple(batch.pieces)) for batch in in_order)


def _bucket_ratio(max_padding_ratio: float) -> float:
    # A bucket whose edges lie the padding ratio apart cannot exceed it; 1.01 keeps the number of
    # buckets sane where no padding is allowed, and `_fits` then does the work.
    return max(max_padding_ratio, 1.01)


def _bucket(num_samples: int, ratio: float) -> int:
    return math.floor(math.log(num_samples / SAMPLE_RATE, ratio))


def _bucket_edges_s(bucket: int, ratio: float) -> tuple[float, float]:
    return ratio**bucket, ratio ** (bucket + 1)
