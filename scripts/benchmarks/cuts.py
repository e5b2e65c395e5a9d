"""Words lost at cuts: our cuts against cuts in the middle of known gaps, under the same limit.

    python scripts/benchmarks/cuts.py

The real vLLM with the words checkpoint, in float32. Known gaps are chosen as ours are: the longest
in the second half of what the limit holds.
"""

from __future__ import annotations

import json
import os
import warnings
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import jiwer
import soundfile

from asrbatch.cut import cut
from asrbatch.data import SAMPLE_RATE, Segment, SpeechParams
from asrbatch.engines import EngineConfig, load_engine, resolve_model
from asrbatch.languages import is_unspaced
from asrbatch.mel import model_input
from asrbatch.speech import listen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asrbatch.data import Waveform

DATA = Path(__file__).resolve().parents[2] / "tests" / "data"
MODEL = DATA / "models" / "qwen3-asr-words"
LIMITS_S = (10, 15, 30)


def split_words(text: str) -> list[str]:
    """Words of a text; each Chinese character is one."""
    spaced = "".join(f" {c} " if is_unspaced(c) else c for c in text)
    return spaced.split()


def our_cuts(waveform: Waveform, limit_s: float) -> list[int]:
    """Where ours cuts, in samples."""
    spans = cut(listen([waveform], SpeechParams()), round(limit_s * SAMPLE_RATE))
    return [span.start_sample for span in spans][1:]


def known_cuts(words: list[dict[str, float]], limit_s: float) -> list[int]:
    """The middles of known gaps."""
    gaps = [(a["end_s"], b["start_s"]) for a, b in pairwise(words)]
    cuts, start_s = [], 0.0
    while words[-1]["end_s"] - start_s > limit_s:
        near = [g for g in gaps if start_s + limit_s / 2 < sum(g) / 2 <= start_s + limit_s]
        best = max(near, key=lambda gap: gap[1] - gap[0])
        start_s = sum(best) / 2
        cuts.append(round(start_s * SAMPLE_RATE))
    return cuts


def pieces(waveform: Waveform, cuts: list[int]) -> Iterator[tuple[int, Waveform]]:
    """The waveform between the cuts."""
    edges = [0, *cuts, len(waveform)]
    for start, end in pairwise(edges):
        yield start, waveform[start:end]


def main() -> None:
    """Print rows of Markdown."""
    config = EngineConfig("vllm", str(MODEL), "float32", max_num_seqs=64)
    spec = resolve_model(config)
    engine = load_engine(spec, config)

    def hear(waveform: Waveform, cuts: list[int]) -> str:
        for index, (start, piece) in enumerate(pieces(waveform, cuts)):
            segment = Segment("a", index, start, len(piece), "pause")
            engine.submit(segment, model_input(piece, spec.mel))
        found = []
        while engine.outstanding:
            found += engine.step()
        found.sort(key=lambda hypothesis: hypothesis.index)
        return " ".join(" ".join(split_words(hypothesis.text)) for hypothesis in found)

    for name in ("long-en", "long-zh", "long-switch", "long-nopause"):
        waveform, _ = soundfile.read(DATA / "words" / f"{name}.flac", dtype="float32")
        words = json.loads((DATA / "words" / f"{name}.words.json").read_text("utf-8"))
        reference = " ".join(word["word"] for word in words)
        for limit_s in LIMITS_S:
            ours, known = our_cuts(waveform, limit_s), known_cuts(words, limit_s)
            torn = [
                at
                for at in ours
                if any(w["start_s"] < at / SAMPLE_RATE < w["end_s"] for w in words)
            ]
            a, b = (jiwer.process_words(reference, hear(waveform, c)) for c in (ours, known))
            errors = [m.substitutions + m.deletions + m.insertions for m in (a, b)]
            print(
                f"| {name}, at most {limit_s} s | WER {a.wer:.2%}, in known gaps {b.wer:.2%} | "
                f"{len(ours)} and {len(known)} cuts, {len(torn)} in a word, "
                f"{errors[0]} and {errors[1]} errors |"
            )
    engine.close()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "2")
    main()
