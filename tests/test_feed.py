"""Turns between an engine and the workers on the same cores."""

from types import SimpleNamespace

import pytest

import asrbatch.pipeline.feed
from asrbatch.pipeline.feed import Turn


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(s=100.0)
    fake = SimpleNamespace(perf_counter=lambda: now.s)
    monkeypatch.setattr(asrbatch.pipeline.feed, "time", fake)
    monkeypatch.setattr(asrbatch.pipeline.feed, "num_cores", lambda: 2)
    return now


def test_an_engine_on_the_workers_cores_waits_while_all_of_them_compute(clock):
    workers = SimpleNamespace(num_busy=2, num_waiting=0)
    turn = Turn(workers, SimpleNamespace(shares_cores=True))
    assert turn.is_theirs()
    workers.num_busy = 1
    assert not turn.is_theirs()


def test_an_engine_elsewhere_never_waits(clock):
    workers = SimpleNamespace(num_busy=2, num_waiting=0)
    assert not Turn(workers, SimpleNamespace(shares_cores=False)).is_theirs()


def test_workers_that_hang_do_not_hold_the_engine_up(clock):
    workers = SimpleNamespace(num_busy=2, num_waiting=0)
    turn = Turn(workers, SimpleNamespace(shares_cores=True))
    assert turn.is_theirs()
    clock.s += 0.9
    workers.num_waiting = 5
    assert turn.is_theirs()
    clock.s += 0.9
    assert turn.is_theirs()
    clock.s += 0.2
    assert not turn.is_theirs()
