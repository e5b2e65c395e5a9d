"""The same work with different numbers of sequences, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from asrbatch.bench.run import Work, bench
from asrbatch.errors import ConfigError
from asrbatch.machine import module_path

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CHILD = "from asrbatch.bench.sweep import child; child()"

KNEE_SHARE = 0.95
"""Of the best throughput; more sequences than it takes for that cost latency and memory."""


def parse_sweep(text: str) -> list[int]:
    """Read a list of numbers of sequences.

    Raises:
        ConfigError: One of them is no number above 0.
    """
    values = [value.strip() for value in text.split(",")]
    wrong = [value for value in values if not value.isdecimal() or int(value) < 1]
    if wrong:
        msg = f"sweep: {wrong[0]!r} is no number of sequences; give some above 0, such as 32,64,128"
        raise ConfigError(msg)
    return sorted({int(value) for value in values})


def sweep(values: Sequence[int], work: Work) -> list[dict[str, Any]]:
    """Measure each number, with a model of its own.

    Args:
        values: Numbers of sequences.
        work: What to measure.

    Returns:
        What `bench` gives for each, or `concurrency` and `error` where it failed, for want of
        memory for example.
    """
    return [_measure(value, work) for value in values]


def _measure(value: int, work: Work) -> dict[str, Any]:
    # A process of its own: what an engine holds of a card goes with its process only.
    one = replace(work, options=work.options | {"max_num_seqs": value})
    done = subprocess.run(
        [sys.executable, "-P", "-c", CHILD],
        input=orjson.dumps(one),
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONPATH": module_path()},
    )
    if done.returncode == 0:
        result: dict[str, Any] = orjson.loads(done.stdout.splitlines()[-1])
        return result
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return {"concurrency": value, "error": lines[-1] if lines else "no reason given"}


def child() -> None:
    """Measure what standard input says, and write the figures to standard output."""
    given = orjson.loads(sys.stdin.buffer.read())
    result = bench(Work(**given | {"compare": tuple(given["compare"])}))
    sys.stdout.buffer.write(b"\n" + orjson.dumps(result) + b"\n")


def save_knee(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Write the number of sequences at the knee to a file for `--config`.

    Raises:
        ConfigError: All measurements failed, or the file cannot be written.
    """
    best = knee(results)
    if best is None:
        msg = "save config: every measurement failed; there is nothing to save"
        raise ConfigError(msg)
    try:
        path.write_text(f"# Chosen by asrbatch bench --sweep\nmax-num-seqs = {best}\n", "utf-8")
    except OSError as error:
        msg = f"save config: {path} cannot be written: {error.strerror}; choose another file"
        raise ConfigError(msg) from error


def knee(results: Sequence[dict[str, Any]]) -> int | None:
    """The fewest sequences that come close to the best throughput; None where all failed."""
    good = [result for result in results if "error" not in result]
    best = max((result["rtfx"] for result in good), default=0.0)
    near = [r["concurrency"] for r in good if r["rtfx"] >= KNEE_SHARE * best]
    return min(near, default=None)
