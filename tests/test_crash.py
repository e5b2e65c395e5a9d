"""Real processes killed with a real SIGKILL."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
import soundfile

from tests.conftest import SPEECH, asrbatch, read_jsonl

pytestmark = pytest.mark.slow

ROOT = str(Path.cwd())


def kill_while_running(folder, delay_s, *arguments):
    """Start a run and kill it after a while; whether it was still running."""
    process = subprocess.Popen(
        [sys.executable, "-m", "asrbatch", "transcribe", "in", *arguments],
        cwd=folder,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": ROOT},
    )
    time.sleep(delay_s)
    running = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    return running


def check_everything_is_there_once(folder, count):
    rows = read_jsonl(folder / "results.jsonl")
    assert len(rows) == count
    assert len({row["id"] for row in rows}) == count
    assert sorted(row["path"] for row in rows) == sorted(p.name for p in (folder / "in").iterdir())
    leftovers = {p.name for p in folder.iterdir()} - {
        "in", "results.jsonl", "results.jsonl.lock", "results.summary.json",
    }  # fmt: skip
    assert not {name for name in leftovers if not name.endswith(".tmp")}


def make_speech(folder, count):
    """Distinct recordings of real speech."""
    (folder / "in").mkdir()
    samples, rate = soundfile.read(SPEECH / "lj20.wav")
    for i in range(count):
        soundfile.write(folder / "in" / f"{i:02}.wav", samples * (1 - i / 200), rate)


def test_killed_at_20_moments_of_a_60_file_run_nothing_is_lost_or_done_twice(tmp_path):
    make_speech(tmp_path, 60)
    random = Random(20)
    one_by_one = ("--batch-size", "1")
    kills = sum(
        kill_while_running(tmp_path, random.uniform(0.5, 5), *one_by_one) for _ in range(20)
    )
    results = tmp_path / "results.jsonl"
    finished = results.read_bytes().count(b"\n") if results.exists() else 0
    print(f"{kills} of 20 kills hit a running process; {finished} recordings were finished by then")
    assert kills >= 15
    assert finished > 0
    done = asrbatch(
        "transcribe", "in", *one_by_one, cwd=tmp_path, env=os.environ | {"PYTHONPATH": ROOT}
    )
    assert done.returncode == 0, done.stderr
    check_everything_is_there_once(tmp_path, 60)


def test_killed_while_lines_are_written_nothing_is_torn(tone, tmp_path):
    """With the null engine almost all the time goes into reading and writing."""
    for i in range(60):
        tone(f"{i:02}.wav", seconds=0.2, folder=tmp_path / "in")
    random = Random(21)
    for _ in range(20):
        (tmp_path / "results.jsonl").unlink(missing_ok=True)
        kill_while_running(tmp_path, random.uniform(0.3, 0.9), "--engine", "null")
        done = asrbatch(
            "transcribe", "in", "--engine", "null", cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": ROOT},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        check_everything_is_there_once(tmp_path, 60)
