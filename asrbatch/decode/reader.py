"""What a reader of one library is to the stream that joins them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

BLOCK_S = 5
"""Seconds in a block: long enough that Python costs nothing, short enough to wait for."""

MAX_BLOCK_VALUES = 1 << 23
"""Values in a block whatever the rate and the channels; 32 MiB as float32."""


class ReadError(Exception):
    """A library gave up on a file; another may go on."""


class Block(NamedTuple):
    """Consecutive samples as the file holds them."""

    rate: int
    """Hz."""
    samples: NDArray[np.float32]
    """Shape (T, channels), full scale is [-1, 1]."""


class Reader(Protocol):
    """One library's view of one file; opening it raises `ReadError`."""

    is_trusted: bool
    """What was read is all there is, so that no other library need be asked."""
    is_cut: bool
    """Something is missing. Both are final when the blocks have ended."""
    declared_s: float
    """What the header says, right or wrong; 0 for nothing."""

    def measure(self) -> int:
        """Length in samples at 16 kHz; may pass over the whole file, but decodes nothing."""
        ...

    def seek(self, sample: int) -> int:
        """Go to a sample at 16 kHz or before it, before any block is read; returns where."""
        ...

    def blocks(self) -> Iterator[Block]:
        """Yield what follows; raises `ReadError` where the library gives up."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


def block_frames(rate: int, channels: int) -> int:
    """Frames that make a block."""
    return max(1, min(rate * BLOCK_S, MAX_BLOCK_VALUES // channels))
