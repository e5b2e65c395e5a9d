"""What the search for speech costs: the front end's chain in one process, without and with it.

    python scripts/benchmarks/speech.py

Over five minutes of connected words; and what the guard costs beside it.
"""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path

from asrbatch.cut import cut
from asrbatch.data import SAMPLE_RATE, Hypothesis, MelParams, Segment, Source, SpeechParams
from asrbatch.decode import decode
from asrbatch.guard import count_votes, judge
from asrbatch.mel import model_input
from asrbatch.probe import probe
from asrbatch.speech import listen

WORDS = Path(__file__).resolve().parents[2] / "tests" / "data" / "words"
MEL = MelParams(128)
RUNS = 7


def chain_ms(path: Path, params: SpeechParams | None) -> float:
    """Milliseconds for 30 s of decoding, looking for speech, cutting and features."""
    start, num_samples = time.perf_counter(), 0
    stream = decode(Source(path, path.name), probe(path))
    for span in cut(listen(stream, params), 30 * SAMPLE_RATE):
        model_input(span.waveform, MEL)
        num_samples += len(span.waveform)
    return 1e3 * (time.perf_counter() - start) / (num_samples / (30 * SAMPLE_RATE))


def guard_ms() -> float:
    """Milliseconds for 30 s of judging and voting, over the words of the recording."""
    words = json.loads((WORDS / "long-en.words.json").read_text("utf-8"))
    answers = []
    for index in range(10):
        here = [w["word"] for w in words if 30 * index <= w["start_s"] < 30 * (index + 1)]
        segment = Segment("a", index, 0, 30 * SAMPLE_RATE, "pause", speech_samples=400_000)
        answers.append((segment, Hypothesis("a", index, " ".join(here), "en", "stop", (), 0.0)))
    start = time.perf_counter()
    for segment, hypothesis in answers:
        judge(segment, hypothesis)
    count_votes(answers)
    return 1e3 * (time.perf_counter() - start) / len(answers)


def main() -> None:
    """Print rows of Markdown."""
    path = WORDS / "long-en.flac"
    chain_ms(path, SpeechParams())
    turns = [(chain_ms(path, None), chain_ms(path, SpeechParams())) for _ in range(RUNS)]
    without, with_ = (statistics.median(turn[i] for turn in turns) for i in (0, 1))
    guard = statistics.median(guard_ms() for _ in range(RUNS))
    print(
        f"| one core, decoding, cutting and features of 30 s of FLAC: without and with the search "
        f"for speech | {without:.1f} ms, {with_:.1f} ms |"
    )
    print(
        f"| the guard and the vote, for 30 s | {guard:.3f} ms, {guard / with_:.2%} of the front "
        f"end ({guard / without:.2%} without the search for speech) |"
    )


if __name__ == "__main__":
    main()
