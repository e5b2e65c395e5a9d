"""Times of words: in order, inside their segment, and near where the words were said."""

import difflib
import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from asrbatch.data import SAMPLE_RATE, Segment, Word
from asrbatch.engines.aligned_engine import AlignedEngine
from asrbatch.engines.aligner import BATCH
from asrbatch.engines.whisper_words import words_in
from asrbatch.errors import ConfigError
from asrbatch.options import build_config
from asrbatch.pipeline import Run
from asrbatch.words import place_words, slices_of
from tests.conftest import MODELS, SPEECH, WORDS, asrbatch, read_jsonl
from tests.fake_engine import FakeEngine

SEGMENT = Segment("a.wav", 3, 80_000, 48_000, "pause")
SECONDS = st.floats(-5, 10, allow_nan=False)


def start_errors(rows, folder):
    """Absolute errors of the starts of those words that were heard right, in seconds."""
    errors = []
    for row in rows:
        stem = row["path"].rpartition("/")[2].partition(".")[0]
        wanted = json.loads((folder / f"{stem}.words.json").read_text("utf-8"))
        heard = [word for s in row["segments"] for word in s["words"]]
        texts = [
            [re.sub(r"[^\w']", "", word["word"].lower()) for word in words]
            for words in (wanted, heard)
        ]
        matcher = difflib.SequenceMatcher(None, *texts, autojunk=False)
        for i, j, length in matcher.get_matching_blocks():
            errors += [
                abs(wanted[i + k]["start_s"] - heard[j + k]["start_s"]) for k in range(length)
            ]
    return errors


def assert_well_placed(row):
    """Words are in order and inside their segments, and are those of the text."""
    for segment in row["segments"]:
        earliest = segment["start_s"]
        for word in segment["words"]:
            assert earliest <= word["start_s"] <= word["end_s"] <= segment["end_s"]
            earliest = word["end_s"]
        joined = "".join(word["word"] for word in segment["words"])
        assert re.sub(r"\W", "", joined) == re.sub(r"\W", "", segment["text"])


@given(st.lists(st.tuples(st.just("word"), SECONDS, SECONDS), max_size=20))
def test_whatever_a_model_says_words_are_in_order_and_inside(timed):
    words = place_words(SEGMENT, timed)
    assert len(words) == len(timed)
    edges = [80_000, *(edge for w in words for edge in (w.start_sample, w.end_sample)), 128_000]
    assert edges == sorted(edges)


def test_times_that_are_well_are_kept():
    words = place_words(SEGMENT, [("four", 0.5, 0.75), ("one", 0.75, 1.0)])
    assert words == (Word("four", 88_000, 92_000), Word("one", 92_000, 96_000))


@pytest.mark.parametrize(
    ("text", "bare", "slices"),
    [
        ("Four, one. Off!", ["Four", "one", "Off"], ["Four", "one", "Off"]),
        ("It's 3.5 an ill-disposed", ["It's", "35", "an", "illdisposed"], ["It's", "3.5", "an", "ill-disposed"]),
        ("今天 vLLM 课。", ["今", "天", "vLLM", "课"], ["今", "天", "vLLM", "课"]),
        ("four one", ["for", "one"], ["for", "one"]),
        ("four", ["four", "one"], ["four", "one"]),
        ("", [], []),
    ],
)  # fmt: skip
def test_words_are_as_they_stand_in_the_text(text, bare, slices):
    assert slices_of(text, bare) == slices


def test_words_of_a_text_that_was_cut_off_end_with_it():
    timed = [("one", 0.0, 0.1), ("two", 0.1, 0.2), ("three", 0.2, 0.3)]
    assert words_in("one two", timed) == timed[:2]
    assert words_in("one two three four", timed) == timed
    assert words_in("one two thr", timed) == [*timed[:2], ("thr", 0.2, 0.3)]


class Echo(FakeEngine):
    """Answers each segment with its number."""

    def answer(self, segment):
        return {"text": str(segment.index)}


class Counter:
    """An aligner that knows even numbers."""

    def __init__(self):
        self.batches = []

    def knows(self, segment, hypothesis):
        return segment.index % 2 == 0

    def align(self, items):
        self.batches.append([item.segment.index for item in items])
        return [(Word(item.hypothesis.text, 0, 1),) for item in items]


def test_each_segment_is_answered_once_and_in_batches():
    aligner = Counter()
    engine = AlignedEngine(Echo(), aligner)
    audio = np.zeros(16_000, np.float32)
    for i in range(100):
        engine.submit(replace(SEGMENT, index=i, num_samples=16_000 + 100 - i), audio)
    answers = []
    while engine.outstanding:
        answers += engine.step()
    assert sorted(answer.index for answer in answers) == list(range(100))
    assert all((answer.words is not None) == (answer.index % 2 == 0) for answer in answers)
    assert [len(batch) for batch in aligner.batches] == [BATCH, BATCH, BATCH, 50 - 3 * BATCH]
    assert all(batch == sorted(batch, reverse=True) for batch in aligner.batches)
    assert not engine._held


@pytest.mark.slow
def test_whispers_words_are_near_where_they_were_said(tmp_path):
    out = tmp_path / "results.jsonl"
    arguments = ("--include", "austen*", "--engine", "ctranslate2", "--timestamps", "word")
    done = asrbatch("transcribe", SPEECH, *arguments, "--out", out, "--quiet")
    assert done.returncode == 0, done.stderr
    rows = read_jsonl(out)
    for row in rows:
        assert_well_placed(row)
    errors = start_errors(rows, SPEECH)
    print(f"median error of {len(errors)} starts: {np.median(errors):.3f} s")
    assert len(errors) >= 60
    assert np.median(errors) <= 0.12


@pytest.mark.slow
def test_words_of_a_long_recording_stay_on_its_clock(tmp_path):
    clips = [soundfile.read(SPEECH / f"austen-{n}.wav")[0] for n in ("0870", "0890", "0920")]
    soundfile.write(tmp_path / "long.wav", np.concatenate(clips * 3), SAMPLE_RATE)
    options = {"engine": "ctranslate2", "timestamps": "word", "chunk_seconds": 20}
    (transcript,) = Run(build_config(tmp_path / "long.wav", options))
    words = [word for segment in transcript.segments for word in segment.words]
    period_s = sum(map(len, clips)) / SAMPLE_RATE
    starts = [word.start_s for word in words if word.word.strip(",.").lower() == "dashwood"]
    assert len(starts) == 3
    assert np.diff(starts) == pytest.approx([period_s, period_s], abs=0.2)


@pytest.mark.slow
def test_the_aligners_words_and_times_are_those_of_transformers():
    command = [sys.executable, "-W", "ignore", "-m", "tests.run_aligner"]
    done = subprocess.run(
        [*command, MODELS / "qwen3-aligner-words", WORDS], capture_output=True, check=True
    )
    found = json.loads(done.stdout)
    assert len(found["theirs"]) == 24
    for name, theirs in found["theirs"].items():
        duration_s = soundfile.info(WORDS / name).duration
        # Theirs may end a step after the sound does.
        inside = [[text, *(min(t, round(duration_s, 3)) for t in times)] for text, *times in theirs]
        assert found["batched"][name] == found["single"][name] == inside


@pytest.mark.slow
@pytest.mark.parametrize("num_samples", [1, 159, 319, 320, 800])
def test_a_recording_shorter_than_a_word_costs_nothing(num_samples, tmp_path):
    soundfile.write(tmp_path / "short.wav", np.full(num_samples, 0.1), SAMPLE_RATE)
    soundfile.write(tmp_path / "good.wav", soundfile.read(SPEECH / "lj35.wav")[0], 22_050)
    run = Run(build_config(tmp_path, {"engine": "ctranslate2", "timestamps": "word"}))
    found = {transcript.path: transcript for transcript in run}
    assert set(found) == {"short.wav", "good.wav"}
    assert found["good.wav"].segments[0].words


def test_times_of_segments_can_be_left_out():
    options = {"engine": "null", "vad": False, "timestamps": "none"}
    (transcript,) = Run(build_config(SPEECH / "austen-0870.wav", options))
    assert transcript.segments == ()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"timestamps": "letter"}, "choose none, segment, word"),
        ({"engine": "ctranslate2", "aligner": "x/y", "timestamps": "word"}, "--engine vllm"),
        ({"engine": "vllm", "aligner": "x/y"}, "--timestamps word"),
        (
            {
                "engine": "vllm",
                "model": str(MODELS / "qwen3-asr-words"),
                "aligner": str(MODELS / "qwen3-asr-words"),
                "timestamps": "word",
            },
            "no forced aligner",
        ),
    ],
)
def test_what_cannot_be_aligned_is_refused_before_anything_is_loaded(options, says):
    with pytest.raises(ConfigError, match=says):
        Run(build_config(SPEECH, options))
