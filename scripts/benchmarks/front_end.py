"""Everything but the engine, against the same chain in a plain loop of one process.

    python scripts/benchmarks/front_end.py [CLIPS]

CLIPS generated recordings of 5 to 60 s (100) as 16 kHz FLAC, 44.1 kHz stereo MP3 and M4A; features
are computed. Loop, one worker and two workers take turns.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import imageio_ffmpeg

from asrbatch.bench import generate_clips, parse_lengths
from asrbatch.cut import cut
from asrbatch.data import SAMPLE_RATE, MelParams, Source
from asrbatch.decode import decode
from asrbatch.identity import content_id
from asrbatch.mel import model_input
from asrbatch.options import build_config
from asrbatch.pipeline import Run
from asrbatch.pipeline.workers import ONE_THREAD
from asrbatch.probe import probe
from asrbatch.speech import take_all

RUNS = 3
WARM_UP = 4
MEL = MelParams(128)


def plain_loop(folder: Path) -> float:
    """Audio seconds a second of hash, decode, cut and features, one file after the other."""
    paths = sorted(folder.iterdir())
    infos = [probe(path) for path in paths]

    def work(count: int) -> int:
        num_samples = 0
        for path, info in list(zip(paths, infos, strict=True))[:count]:
            content_id(path)
            for span in cut(take_all(decode(Source(path, path.name), info)), 30 * SAMPLE_RATE):
                model_input(span.waveform, MEL)
                num_samples += len(span.waveform)
        return num_samples

    work(WARM_UP)
    start = time.perf_counter()
    num_samples = work(len(paths))
    return num_samples / SAMPLE_RATE / (time.perf_counter() - start)


def whole_run(folder: Path, workers: int) -> float:
    """RTFx of a run with the null engine."""
    run = Run(
        build_config(
            str(folder), {"engine": "null", "workers": workers, "cache": False, "vad": False}
        )
    )
    for _ in run:
        pass
    return run.stats.rtfx or 0.0


def main(count: int = 100) -> None:
    """Print rows of Markdown."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for ending in ("flac", "mp3", "m4a"):
            (folder / ending).mkdir()
        generate_clips(folder / "flac", parse_lengths("uniform:5,60"), count)
        for clip in sorted((folder / "flac").iterdir()):
            for ending in ("mp3", "m4a"):
                convert(clip, folder / ending / f"{clip.stem}.{ending}")
        for ending in ("flac", "mp3", "m4a"):
            loops, ones, twos = [], [], []
            for _ in range(RUNS):
                loops.append(in_own_process(folder / ending))
                ones.append(whole_run(folder / ending, 1))
                twos.append(whole_run(folder / ending, 2))
            one = statistics.median(a / b for a, b in zip(ones, loops, strict=True))
            two = statistics.median(a / b for a, b in zip(twos, ones, strict=True))
            print(
                f"| null engine, {ending}: one worker / plain loop, two workers / one | "
                f"{one:.2f}, {two:.2f} (loop {statistics.median(loops):,.0f} x real time) |"
            )


def convert(source: Path, target: Path) -> None:
    """Encode at 44.1 kHz stereo."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", source]
    subprocess.run([*command, "-ac", "2", "-ar", "44100", "-b:a", "128k", target], check=True)


def in_own_process(folder: Path) -> float:
    """The plain loop with one thread, as a worker has."""
    done = subprocess.run(
        [sys.executable, __file__, "--loop", folder],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | ONE_THREAD,
    )
    return float(done.stdout)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--loop"]:
        print(plain_loop(Path(sys.argv[2])))
    else:
        main(*map(int, sys.argv[1:]))
