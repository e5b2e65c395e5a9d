"""The rolling queue of a whole run against the engine alone, with everything ready and queued.

    python scripts/benchmarks/vllm_queue.py [CLIPS]

CLIPS of 1 to 30 s (600) and three recordings of five minutes, cut from the words recordings,
through the real vLLM with the words checkpoint, in float32; both ways in turns, in one process.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import soundfile

from asrbatch.cut import cut
from asrbatch.data import SAMPLE_RATE, Segment, Source
from asrbatch.decode import decode
from asrbatch.engines import EngineConfig, load_engine, resolve_model
from asrbatch.mel import input_shape, model_input
from asrbatch.options import build_config
from asrbatch.pipeline import Run
from asrbatch.probe import probe
from asrbatch.speech import take_all

DATA = Path(__file__).resolve().parents[2] / "tests" / "data"
MODEL = DATA / "models" / "qwen3-asr-words"
MAX_NUM_SEQS = 64
SEGMENT_SAMPLES = 30 * SAMPLE_RATE
RUNS = 7


def make_clips(folder: Path, count: int) -> None:
    """Slices of the words recordings, as FLAC."""
    recordings = sorted((DATA / "words").glob("long-*.flac"))
    voice = np.concatenate([soundfile.read(path, dtype="int16")[0] for path in recordings])
    random = Random(0)
    for index in range(count + 3):
        seconds = 300.0 if index >= count else random.uniform(1, 30)
        start = random.randrange(len(voice) - round(seconds * SAMPLE_RATE))
        waveform = voice[start : start + round(seconds * SAMPLE_RATE)]
        soundfile.write(folder / f"{index:04}.flac", waveform, SAMPLE_RATE)


def main(count: int = 600) -> None:
    """Print rows of Markdown."""
    config = EngineConfig("vllm", str(MODEL), "float32", max_num_seqs=MAX_NUM_SEQS)
    spec = resolve_model(config)
    engine = load_engine(spec, config)
    with tempfile.TemporaryDirectory() as folder:
        clips = Path(folder, "clips")
        clips.mkdir()
        make_clips(clips, count)
        options = {
            "engine": "vllm", "model": str(MODEL), "dtype": "float32", "cache": False,
            "max_num_seqs": MAX_NUM_SEQS, "out": f"{folder}/results.jsonl", "overwrite": True,
            "vad": False, "max_retries": 0,
        }  # fmt: skip
        ready = []
        for path in sorted(clips.iterdir()):
            blocks = take_all(decode(Source(path, path.name), probe(path)))
            for index, span in enumerate(cut(blocks, SEGMENT_SAMPLES)):
                segment = Segment(path.name, index, 0, len(span.waveform), "end")
                ready.append((segment, model_input(span.waveform, spec.mel)))

        def engine_alone() -> float:
            start = time.perf_counter()
            for segment, features in ready:
                engine.submit(segment, features)
            while engine.outstanding:
                engine.step()
            return time.perf_counter() - start

        def whole_run() -> tuple[float, float]:
            run = Run(build_config(str(clips), options), engine)
            for _ in run:
                pass
            return run.stats.work_s, run.stats.starved_s / run.stats.work_s

        whole_run()
        turns = [(whole_run(), engine_alone()) for _ in range(RUNS)]
        long = Segment("long", 0, 0, SEGMENT_SAMPLES, "end")
        features = np.zeros(input_shape(SEGMENT_SAMPLES, spec.mel), np.float32)
        queue_s = []
        for _ in range(RUNS):
            start = time.perf_counter()
            for index in range(MAX_NUM_SEQS):
                engine.submit(replace(long, index=index), features)
            queue_s.append((time.perf_counter() - start) / MAX_NUM_SEQS)
            while engine.outstanding:
                engine.step()
    engine.close()
    audio_s = sum(segment.duration_s for segment, _ in ready)
    ratio = statistics.median(run[0] / alone for run, alone in turns)
    alone_s = statistics.median(alone for _, alone in turns)
    starved = statistics.median(run[1] for run, _ in turns)
    print(f"turns: {[(round(r[0], 2), round(a, 2)) for r, a in turns]}", file=sys.stderr)
    print(
        f"| vLLM, words checkpoint, {count} clips of 1 to 30 s and three of 5 minutes: whole run / "
        f"engine alone | {ratio:.3f} (engine alone {audio_s / alone_s:.0f} x real time), "
        f"starved {starved:.2%} |"
    )
    median_ms = 1e3 * statistics.median(queue_s)
    print(
        f"| vLLM, to queue a segment of 30 s, features ready | {median_ms:.2f} ms ("
        f"{1e3 * min(queue_s):.2f} to {1e3 * max(queue_s):.2f}) |"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "2")
    main(*map(int, sys.argv[1:]))
