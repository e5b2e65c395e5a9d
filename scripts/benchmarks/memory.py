"""Memory of the main process and the workers while twenty hours pass, one file of ten among them.

python scripts/benchmarks/memory.py
"""

from __future__ import annotations

import tempfile
import wave
from pathlib import Path

from asrbatch.bench.memory import memory_bytes, peak_memory
from asrbatch.options import build_config
from asrbatch.pipeline import Run

HOURS = (10, *(1,) * 10)


def main() -> None:
    """Print a row of Markdown."""
    before = memory_bytes()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "in")
        folder.mkdir()
        for index, hours in enumerate(HOURS):
            with wave.open(str(folder / f"{index}.wav"), "wb") as file:
                file.setparams((1, 2, 16_000, 0, "NONE", ""))
                for _ in range(hours * 60):
                    # Different in each file, or they would be copies of one another.
                    file.writeframes(bytes([index + 1, 0]) + bytes(60 * 16_000 * 2 - 2))
        run = Run(
            build_config(
                str(folder), {"engine": "null", "out": f"{name}/results.jsonl", "vad": False}
            )
        )
        with peak_memory() as peak:
            done = sum(1 for _ in run)
    stats = run.stats
    print(
        f"| null engine, {stats.audio_s / 3600:.0f} hours in {done} files: main process and "
        f"{stats.num_workers} workers | {(peak[0] - before) / 2**20:.0f} MiB more than before, "
        f"RTFx {stats.rtfx or 0:,.0f} |"
    )


if __name__ == "__main__":
    main()
