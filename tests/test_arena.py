"""Shared memory: exact, ragged, aligned, given back when the last reader is gone."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asrbatch.arena import ALIGNMENT, Arena, Region, slot_bytes


@pytest.fixture
def arena():
    arena = Arena(1 << 16)
    yield arena
    arena.close()


def test_what_one_process_writes_another_reads_in_place(arena):
    slot = Region(arena, 0, 1 << 16).allocate((3, 5))
    code = """
        import sys
        from asrbatch.arena import Arena, Slot
        Arena(1 << 16, int(sys.argv[1])).write(Slot(int(sys.argv[2]), (3, 5)))[:] = 7
    """
    command = [sys.executable, "-c", "\n".join(map(str.strip, code.splitlines()))]
    arguments = [str(arena.fileno()), str(slot.offset)]
    subprocess.run([*command, *arguments], pass_fds=[arena.fileno()], check=True)
    assert (arena.read(slot) == 7).all()


def test_reading_makes_no_copy(arena):
    slot = Region(arena, 0, 1 << 16).allocate((4, 4))
    read = arena.read(slot)
    arena.write(slot)[:] = 3
    assert (read == 3).all()
    assert np.shares_memory(read, arena.write(slot))


def test_room_is_given_back_when_nothing_refers_to_it_any_more(arena):
    region = Region(arena, 0, slot_bytes((16,)))
    view = arena.read(region.allocate((16,)))[4:]
    assert region.allocate((16,)) is None
    part = view.reshape(3, 4)[1]
    del view
    assert region.allocate((16,)) is None
    del part
    assert region.allocate((16,)) is not None


def test_an_array_that_a_tensor_shares_stays(arena):
    torch = pytest.importorskip("torch")
    region = Region(arena, 0, slot_bytes((16,)))
    tensor = torch.from_numpy(arena.read(region.allocate((16,))))[2:]
    assert region.allocate((16,)) is None
    del tensor
    assert region.allocate((16,)) is not None


def test_a_worker_in_the_place_of_a_dead_one_spares_what_is_still_read(arena):
    first = Region(arena, 0, 1024)
    slots = [first.allocate((32,)) for _ in range(3)]
    kept = arena.read(slots[1])
    arena.write(slots[1])[:] = 5
    second = Region(arena, 0, 1024, arena.held_in(0, 1024))
    while (slot := second.allocate((32,))) is not None:
        arena.write(slot)[:] = 0
    assert (kept == 5).all()


def test_an_array_larger_than_the_region_is_refused(arena):
    with pytest.raises(ValueError, match="exceeds the region"):
        Region(arena, 0, 1024).allocate((1024,))


@given(
    st.lists(st.tuples(st.integers(1, 200), st.booleans()), max_size=60),
    st.randoms(use_true_random=False),
)
def test_held_arrays_never_overlap_and_are_aligned(steps, random):
    arena = Arena(1 << 14)
    region = Region(arena, 1 << 12, 1 << 14)
    held = {}
    for count, frees in steps:
        if frees and held:
            arena.release(held.pop(random.choice(list(held))))
        slot = region.allocate((count,))
        if slot is None:
            continue
        assert slot.offset % ALIGNMENT == 0
        assert slot.offset - ALIGNMENT >= 1 << 12
        assert slot.end <= 1 << 14
        start, stop = slot.header, slot.end
        for other in held.values():
            assert stop <= other.offset - ALIGNMENT or other.offset + 4 * other.shape[0] <= start
        held[slot.offset] = slot
    arena.close()


def test_a_share_of_a_region_is_free_once_the_readers_of_it_are_gone(arena):
    region = Region(arena, 0, 4 * slot_bytes((16,)))
    slots = [region.allocate((16,)) for _ in range(4)]
    assert not region.has_room(0.25)
    arena.release(slots[1])
    assert not region.has_room(0.25)  # a ring is freed from its oldest on
    arena.release(slots[0])
    assert region.has_room(0.5)
    assert not region.has_room(0.75)
