"""The number of workers and of outstanding segments follow what a run shows."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import asrbatch.pipeline.run
import asrbatch.pipeline.tuning
from asrbatch.engines.null_engine import NullEngine
from asrbatch.machine import _container_free_share, free_memory_share
from asrbatch.options import build_config
from asrbatch.pipeline import Run
from asrbatch.pipeline.tuning import QUIET_INTERVALS, Bounds, Seen, Setting, choose

BOUNDS = Bounds(1, 8, 64, 128)


@pytest.mark.parametrize(
    ("setting", "seen", "workers", "outstanding"),
    [
        (Setting(4, 128), Seen(0.0, 100, 0.5), 4, 128),  # all is well
        (Setting(2, 128), Seen(0.2, 0, 0.5), 4, 128),  # starved, nothing waits
        (Setting(6, 128), Seen(0.2, 0, 0.5), 8, 128),  # not above the bound
        (Setting(4, 64), Seen(0.2, 100, 0.5), 4, 96),  # starved beside a full queue
        (Setting(4, 128), Seen(0.0, 0, 0.01), 3, 96),  # memory runs short
        (Setting(1, 64), Seen(0.2, 0, 0.01), 1, 64),  # not below the bounds
        (Setting(4, 128, QUIET_INTERVALS - 1), Seen(0.0, 100, 0.5), 3, 128),  # long quiet
        (Setting(4, 128, QUIET_INTERVALS - 1), Seen(0.0, 0, 0.5), 4, 128),  # nothing to spare
    ],
)
def test_each_rule(setting, seen, workers, outstanding):
    chosen = choose(setting, seen, BOUNDS)
    assert (chosen.workers, chosen.outstanding) == (workers, outstanding)


@given(
    st.lists(st.builds(Seen, st.floats(0, 1), st.integers(0, 1000), st.floats(0, 1)), max_size=200)
)
def test_it_stays_within_its_bounds(intervals):
    setting = Setting(BOUNDS.max_workers, BOUNDS.max_outstanding)
    for seen in intervals:
        setting = choose(setting, seen, BOUNDS)
        assert BOUNDS.min_workers <= setting.workers <= BOUNDS.max_workers
        assert BOUNDS.min_outstanding <= setting.outstanding <= BOUNDS.max_outstanding


@pytest.mark.slow
def test_workers_that_only_wait_are_let_go_and_nothing_is_lost(monkeypatch, tone, tmp_path):
    class Slow(NullEngine):
        capacity = 2

        def step(self):
            time.sleep(0.02)
            return [self._answers.pop()]

    monkeypatch.setattr(asrbatch.pipeline.run, "load_engine", Slow)
    monkeypatch.setattr(asrbatch.pipeline.pool, "default_workers", lambda _engine: 2)
    monkeypatch.setattr(asrbatch.pipeline.tuning, "INTERVAL_S", 0.02)
    for i in range(200):
        tone(f"{i:03}.wav", seconds=1)
    run = Run(build_config(tmp_path, {"engine": "null", "batch_seconds": 30}))
    assert len({item.path for item in run}) == 200
    summary = run.stats.summary()
    assert (summary["workers"], summary["outstanding"]) == (1, 2)
    assert summary["retunings"] >= 1


def test_a_number_that_the_user_gives_stays(monkeypatch, tone, tmp_path):
    monkeypatch.setattr(asrbatch.pipeline.tuning, "INTERVAL_S", 0.0)
    monkeypatch.setattr(asrbatch.pipeline.tuning, "free_memory_share", lambda: 0.0)
    for i in range(20):
        tone(f"{i:03}.wav", seconds=1)
    run = Run(build_config(tmp_path, {"engine": "null", "workers": 2}))
    assert len(list(run)) == 20
    assert run.stats.num_workers == 2


def test_a_container_has_the_memory_that_it_was_given(tmp_path):
    assert 0 < free_memory_share() <= 1
    assert _container_free_share(tmp_path) == 1
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("900\n")
    (tmp_path / "memory.stat").write_text("anon 500\ninactive_file 300\n")
    assert _container_free_share(tmp_path) == pytest.approx(0.4)
    (tmp_path / "memory.max").write_text("max\n")
    assert _container_free_share(tmp_path) == 1
