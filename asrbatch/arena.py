"""Shared memory from the workers to the main process: one flat file without a name.

Arrays lie in it one after the other, each at a multiple of 64 bytes and as long as it is: no
padding to a common length. A worker has a region of its own, in which it alone makes room, as in
a ring; the main process reads in place and marks what it has done with. A full region makes its
worker wait, so the bytes of the arena are the back-pressure.

The worker computes features right into the arena, and the main process makes no copy: the first
one is the engine's own (vLLM: where it sends the request to its core, or moves the features to
the device; CTranslate2: where it pads segments to 30 s).
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import tempfile
import weakref
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from asrbatch.data import ALIGNMENT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

ITEM_BYTES = 4
"""Of a float32."""

HEADER_BYTES = 4096
"""Before the regions: a byte for each worker, set while it waits for room, and one that counts
bursts."""

BURSTS = HEADER_BYTES - 1

HELD, FREE = 1, 0
"""First byte of the header that precedes each array."""


class Slot(NamedTuple):
    """Where an array of float32 lies."""

    offset: int
    """Of its first byte in the arena."""
    shape: tuple[int, ...]

    @property
    def header(self) -> int:
        """Offset of its header."""
        return self.offset - ALIGNMENT

    @property
    def end(self) -> int:
        """Offset of the next header."""
        return self.header + slot_bytes(self.shape)


def slot_bytes(shape: tuple[int, ...]) -> int:
    """Bytes that an array of float32 takes, with its header."""
    size = math.prod(shape) * ITEM_BYTES
    return ALIGNMENT + -(-size // ALIGNMENT) * ALIGNMENT


class Arena:
    """The memory, as the main process or a worker sees it."""

    def __init__(self, num_bytes: int, descriptor: int | None = None) -> None:
        """Make it, or map the one of another process.

        Args:
            num_bytes: Its size; pages that are never written take no memory.
            descriptor: Of the file, in a worker.
        """
        self._file = _nameless_file() if descriptor is None else descriptor
        if descriptor is None:
            os.ftruncate(self._file, num_bytes)
        self._map = mmap.mmap(self._file, num_bytes)
        self._held: dict[int, Slot] = {}

    def fileno(self) -> int:
        """Descriptor to hand to a worker."""
        return self._file

    def write(self, slot: Slot) -> NDArray[np.float32]:
        """The array of a slot that a `Region` has made room for, to be filled."""
        count = math.prod(slot.shape)
        return np.frombuffer(self._map, np.float32, count, slot.offset).reshape(slot.shape)

    def read(self, slot: Slot) -> NDArray[np.float32]:
        """The array of a slot; its room is given back when nothing refers to it any more."""
        size = math.prod(slot.shape) * ITEM_BYTES
        # An object for the arrays to keep alive: numpy forgets views in between.
        owner = (ctypes.c_byte * size).from_buffer(self._map, slot.offset)
        self._held[slot.offset] = slot
        weakref.finalize(owner, self.release, slot).atexit = False
        return np.frombuffer(memoryview(owner), np.float32).reshape(slot.shape)

    def release(self, slot: Slot) -> None:
        """Give the room of a slot back."""
        self._held.pop(slot.offset, None)
        self._map[slot.header] = FREE

    def held_in(self, start: int, stop: int) -> list[Slot]:
        """Slots between two offsets that are still read, in order."""
        slots = list(self._held.values())
        return sorted(slot for slot in slots if start <= slot.offset < stop)

    def hold(self, slot: Slot) -> None:
        """Say that an array lies in a slot, or soon will."""
        self._map[slot.header] = HELD

    def is_free(self, slot: Slot) -> bool:
        """Whether the room of a slot has been given back."""
        return self._map[slot.header] == FREE

    def say_waiting(self, place: int, *, waits: bool) -> None:
        """A worker says whether it waits for room."""
        self._map[place] = waits

    @property
    def num_bursts(self) -> int:
        """How often a worker has gone on after it had waited for room; modulo 256."""
        return self._map[BURSTS]

    def begin_burst(self) -> None:
        """Wake those that wait for room too: while all work, the engine loses least."""
        self._map[BURSTS] = (self._map[BURSTS] + 1) % 256

    def is_waiting(self, place: int) -> bool:
        """Whether a worker waits for room."""
        return bool(self._map[place])

    def close(self) -> None:
        """Close the file; the memory goes when the last array does."""
        os.close(self._file)


class Region:
    """A worker's part of the arena: a ring in which it makes room."""

    def __init__(self, arena: Arena, start: int, stop: int, held: Iterable[Slot] = ()) -> None:
        """Begin.

        Args:
            arena: All of it.
            start: First byte of the region, a multiple of `ALIGNMENT`.
            stop: First byte after it.
            held: Slots that a worker before this one filled and that are still read, in order.
        """
        self._arena = arena
        self._start, self._stop = start, stop
        self._slots = deque(held)
        self._next = self._slots[-1].end if self._slots else start

    def allocate(self, shape: tuple[int, ...]) -> Slot | None:
        """Make room for an array of float32.

        Returns:
            None while there is none: wait for the main process, and ask again.

        Raises:
            ValueError: The region is smaller than the array.
        """
        size = slot_bytes(shape)
        if size > self._stop - self._start:
            msg = (
                f"arena: an array of {size} bytes exceeds the region of {self._stop - self._start}"
            )
            raise ValueError(msg)
        self._reclaim()
        header = self._place(size)
        if header is None:
            return None
        slot = Slot(header + ALIGNMENT, shape)
        self._arena.hold(slot)
        self._slots.append(slot)
        self._next = slot.end
        return slot

    def has_room(self, share: float) -> bool:
        """Whether at least a share of the region is free."""
        self._reclaim()
        held = sum(slot_bytes(slot.shape) for slot in self._slots)
        return held <= (1 - share) * (self._stop - self._start)

    def _reclaim(self) -> None:
        while self._slots and self._arena.is_free(self._slots[0]):
            self._slots.popleft()

    def _place(self, size: int) -> int | None:
        """Where the next array may begin with its header."""
        if not self._slots:
            return self._start
        oldest = self._slots[0].header
        if self._next > oldest:  # free: from here to the end, and from the start to the oldest
            if self._next + size <= self._stop:
                return self._next
            return self._start if self._start + size <= oldest else None
        return self._next if self._next + size <= oldest else None


def _nameless_file() -> int:
    """A file that goes with its last descriptor, however its processes end.

    Not /dev/shm: containers give it 64 MB, and writing beyond is death by SIGBUS.
    """
    if hasattr(os, "memfd_create"):
        return os.memfd_create("asrbatch", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
