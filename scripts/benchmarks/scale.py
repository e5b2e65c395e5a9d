"""A million files, and a hundred thousand finished lines.

    python scripts/benchmarks/scale.py [FILES ...]

For each number of FILES (10000, 100000, 1000000): scan, sizes and times, plan, memory; and, up to
100000, the whole process where every line is there and nothing is left to do.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import wave
from pathlib import Path
from random import Random

import orjson

from asrbatch.data import Transcript, TranscriptSegment
from asrbatch.engines import resolve_model
from asrbatch.machine import paused_gc
from asrbatch.options import build_config
from asrbatch.pipeline import Run, open_pool, prepare, scan_inputs
from asrbatch.pipeline.prepare import leave_out_done
from asrbatch.pipeline.stats import RunStats
from asrbatch.plan import BatchBudget, plan_batches
from asrbatch.scan import scan

FILES_IN_FOLDER = 1000
MAX_LINES = 100_000
TEXT = "he might even have been made amiable himself " * 4


def make_files(root: Path, count: int) -> None:
    """Empty files, a thousand in a folder."""
    for number in range(0, count, FILES_IN_FOLDER):
        folder = root / f"{number // 100_000:03}" / f"{number:07}"
        folder.mkdir(parents=True)
        for index in range(min(FILES_IN_FOLDER, count - number)):
            (folder / f"call-{index:04}.wav").touch()


def measure(root: Path) -> dict[str, float]:
    """Seconds and bytes of everything up to the plan, but for the probing."""
    random = Random(0)
    start = time.perf_counter()
    with paused_gc():
        sources = scan([root])
    scanned = time.perf_counter()
    leave_out_done(sources, lambda _source, _stat: False, RunStats())
    looked = time.perf_counter()
    durations = [round(16_000 * min(600, random.lognormvariate(2, 1))) for _ in sources]
    drawn = time.perf_counter()
    plan_batches(durations, BatchBudget(), 480_000)
    planned = time.perf_counter()
    return {
        "scan_s": scanned - start,
        "stat_s": looked - scanned,
        "plan_s": planned - drawn,
        "memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def probe_us(count: int) -> float:
    """Microseconds for a file and core to read headers in the workers, where nothing is done."""
    with tempfile.TemporaryDirectory() as folder:
        samples = bytes(16_000)
        for index in range(count):
            with wave.open(f"{folder}/{index:06}.wav", "wb") as file:
                file.setparams((1, 2, 16_000, 0, "NONE", ""))
                file.writeframes(samples)
        config, stats = build_config(folder, {"engine": "null"}), RunStats()
        with open_pool(config, resolve_model(config.engine)) as pool:
            prepare([], config, stats, pool, lambda: False)
            sources = scan_inputs(config, stats)
            prepare(sources[: len(sources) // 10], config, stats, pool, lambda: False)
            start = time.perf_counter()
            prepare(sources, config, stats, pool, lambda: False)
            return 1e6 * (time.perf_counter() - start) * pool.num_workers / count


def finished_lines_s(root: Path, out: Path) -> float:
    """Seconds of the whole command where all is done."""
    run = Run(build_config(str(root), {"engine": "null", "out": str(out)}))
    with out.open("wb") as file:
        for source in run._sources:
            stat = source.path.stat()
            line = Transcript(
                id=f"{hash(source.name) & (1 << 255) - 1:064x}", path=source.name,
                size_bytes=stat.st_size, mtime_ns=stat.st_mtime_ns, session=None, channel=None,
                offset_s=0.0, duration_s=20.0, speech_s=20.0, skipped_s=0.0, language="en",
                text=TEXT, segments=(TranscriptSegment(0.0, 20.0, TEXT, "en", "end"),), flags=(),
                model="null", engine="null", options=run._fingerprint(source), rtf=0.1,
                created_at="2026-12-01T00:00:00+00:00",
            )  # fmt: skip
            file.write(orjson.dumps(line) + b"\n")
    command = [sys.executable, "-m", "asrbatch", "transcribe", root, "--engine", "null"]
    taken = []
    for _ in range(4):
        start = time.perf_counter()
        subprocess.run([*command, "--out", out, "--quiet"], check=True)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken[1:])


def main(*counts: int) -> None:
    """Print rows of Markdown."""
    for count in counts or (10_000, 100_000, 1_000_000):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder, "in")
            make_files(root, count)
            done = subprocess.run(
                [sys.executable, __file__, "--measure", root], check=True, capture_output=True
            )
            found = json.loads(done.stdout)
            print(
                f"| {count:,} files: scan, sizes and times, plan, memory | {found['scan_s']:.2f} s, "
                f"{found['stat_s']:.2f} s, {found['plan_s']:.2f} s, {found['memory_mib']:.0f} MiB |"
            )
            if count <= MAX_LINES:
                seconds = finished_lines_s(root, Path(folder, "results.jsonl"))
                print(f"| {count:,} finished lines, nothing left to do | {seconds:.2f} s |")
                print(
                    f"| {count:,} WAV files, probed by the workers | {probe_us(count):.0f} us a file and core |"
                )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(Path(sys.argv[2]))))
    else:
        main(*map(int, sys.argv[1:]))
