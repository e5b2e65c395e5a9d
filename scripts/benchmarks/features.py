"""What the feature store is worth: the same recordings decoded, from disk, and from memory.

    python scripts/benchmarks/features.py [CLIPS]

CLIPS generated recordings of 5 to 60 s (100) as 16 kHz FLAC and 44.1 kHz stereo MP3; null engine.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from front_end import convert

from asrbatch.bench import generate_clips, parse_lengths
from asrbatch.feature_store import open_store
from asrbatch.options import build_config
from asrbatch.pipeline import Run

RUNS = 3


def rtfx(folder: Path, store: Path | None) -> float:
    """Audio seconds a second of a run."""
    options = {"engine": "null", "cache": False, "feature_cache": store, "feature_memory_gb": 2.0}
    run = Run(build_config(str(folder), options | {"vad": False}))
    for _ in run:
        pass
    return run.stats.rtfx or 0.0


def main(count: int = 100) -> None:
    """Print rows of Markdown."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for ending in ("flac", "mp3"):
            (folder / ending).mkdir()
        generate_clips(folder / "flac", parse_lengths("uniform:5,60"), count)
        for clip in sorted((folder / "flac").iterdir()):
            convert(clip, folder / "mp3" / f"{clip.stem}.mp3")
        for ending in ("flac", "mp3"):
            store = folder / f"store-{ending}"
            filling, turns = [], []
            rtfx(folder / ending, None)
            for turn in range(RUNS):
                decoded = rtfx(folder / ending, None)
                filling.append(rtfx(folder / ending, folder / f"{ending}-{turn}") / decoded)
                rtfx(folder / ending, store)
                open_store.cache_clear()  # as in another process
                disk = rtfx(folder / ending, store) / decoded
                turns.append((decoded, disk, rtfx(folder / ending, store) / decoded))
            decoded, disk, memory = (
                statistics.median(column) for column in zip(*turns, strict=True)
            )
            print(
                f"| feature store, {ending}: from disk, from memory, and while it is filled, over "
                f"decoding | {disk:.1f}, {memory:.1f}, {statistics.median(filling):.2f} (decoding "
                f"{decoded:,.0f} x real time) |"
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
