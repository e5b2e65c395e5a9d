"""Worker processes: what they cost, what their death costs, and that none is left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

import asrbatch.pipeline.run
import asrbatch.pipeline.workers
from asrbatch.arena import Arena, slot_bytes
from asrbatch.data import Failure, Transcript
from asrbatch.engines.null_engine import NullEngine
from asrbatch.errors import WorkerError
from asrbatch.options import build_config
from asrbatch.pipeline import Run
from tests.conftest import read_jsonl


def run(folder, out=None, **options):
    return Run(build_config(folder, {"engine": "null", "vad": False, "out": out, **options}))


@pytest.fixture
def poisoned(monkeypatch):
    monkeypatch.setattr(asrbatch.pipeline.workers, "COMMAND", "import tests.poisoned_worker")


@pytest.fixture
def arenas(monkeypatch):
    """Those that a run makes."""
    made = []

    def make(*arguments):
        made.append(Arena(*arguments))
        return made[-1]

    monkeypatch.setattr(asrbatch.pipeline.pool, "Arena", make)
    return made


@pytest.mark.parametrize("stage", ["probe", "decode"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_codec_that_crashes_costs_the_file_it_held(poisoned, tone, tmp_path, stage, workers):
    for i in range(20):
        tone(f"{i:02}.wav")
    tone(f"10-poison-{stage}.wav")
    items = list(run(tmp_path, workers=workers))
    (failure,) = [item for item in items if isinstance(item, Failure)]
    assert (failure.path, failure.stage, failure.error) == (
        f"10-poison-{stage}.wav",
        stage,
        "WorkerCrash",
    )
    assert "SIGSEGV" in failure.message
    assert sum(isinstance(item, Transcript) for item in items) == 20


def test_workers_that_cannot_start_end_the_run_with_one_clear_error(monkeypatch, tone, tmp_path):
    monkeypatch.setattr(asrbatch.pipeline.workers, "COMMAND", "raise SystemExit(7)")
    tone("a.wav")
    with pytest.raises(WorkerError, match="exit code 7"):
        list(run(tmp_path))


def test_features_are_written_once_and_reach_the_engine_without_a_copy(
    arenas, monkeypatch, tone, tmp_path
):
    arrays = []

    class Reader(NullEngine):
        def submit(self, segment, audio):
            arrays.append(audio)
            super().submit(segment, audio)

    monkeypatch.setattr(asrbatch.pipeline.run, "load_engine", Reader)
    tone("a.wav", seconds=5)
    list(run(tmp_path, chunk_seconds=2))
    whole = np.frombuffer(arenas[0]._map, np.float32)
    assert len(arrays) >= 3
    assert all(np.shares_memory(array, whole) for array in arrays)
    starts = [array.__array_interface__["data"][0] for array in arrays]
    assert all((start - whole.__array_interface__["data"][0]) % 64 == 0 for start in starts)


@pytest.mark.slow
def test_a_slow_engine_bounds_what_lies_ready(arenas, monkeypatch, tone, tmp_path):
    class Holder(NullEngine):
        capacity = 1
        most = 0

        def step(self):
            time.sleep(0.02)
            self.__class__.most = max(self.most, sum(slot_bytes(slot.shape) for slot in held()))
            return super().step()

    monkeypatch.setattr(asrbatch.pipeline.run, "load_engine", Holder)

    def held():
        return list(arenas[0]._held.values())

    tone("a.wav", seconds=100)
    (transcript,) = run(tmp_path, chunk_seconds=2, batch_seconds=8, workers=1)
    assert transcript.duration_s == 100
    assert 0 < Holder.most <= 8 * 16_000 * 4


def children(process):
    return psutil.Process(process.pid).children(recursive=True)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_worker_is_left_behind(number, tone, tmp_path):
    for i in range(300):
        tone(f"{i:03}.wav", seconds=3)
    process = subprocess.Popen(
        [sys.executable, "-m", "asrbatch", "transcribe", ".", "--engine", "null", "--quiet"],
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": str(Path.cwd())},
    )
    while not read_jsonl(tmp_path / "results.jsonl"):
        assert process.poll() is None
        time.sleep(0.01)
    workers = children(process)
    assert workers
    process.send_signal(number)
    process.wait()
    _, alive = psutil.wait_procs(workers, timeout=10)
    assert alive == []
