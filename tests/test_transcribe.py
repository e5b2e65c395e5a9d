"""End to end on real speech with the embedded engine."""

import os
from itertools import pairwise
from random import Random

import numpy as np
import pytest
import soundfile

import asrbatch as asrbatch_package
from asrbatch.data import SAMPLE_RATE, Source
from asrbatch.decode import decode
from asrbatch.probe import probe
from tests.audio_files import BAD_KINDS, GOOD_FORMATS
from tests.conftest import SPEECH, asrbatch, read_jsonl, references
from tests.scoring import word_error_rate

pytestmark = pytest.mark.slow

REFERENCES = references(SPEECH)


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    """The demo's results: text by file name and channel."""
    out = tmp_path_factory.mktemp("demo") / "results.jsonl"
    done = asrbatch("transcribe", SPEECH, SPEECH / "channels.jsonl", "--out", out)
    assert done.returncode == 0, done.stderr
    rows = read_jsonl(out)
    assert all(row["language"] == "en" for row in rows)
    return {(row["path"], row["channel"]): row["text"] for row in rows}


def test_the_clips_are_heard_with_at_most_12_percent_word_errors(clips):
    wer = word_error_rate([(text, clips[key]) for key, text in REFERENCES.items()])
    print(f"WER of the clips: {wer:.2%}")
    assert wer <= 0.12


def waveform(name, channel):
    path = SPEECH / name
    source = Source(path, name, channel=channel)
    return np.concatenate(list(decode(source, probe(path))))


def test_a_rare_name_is_written_as_it_is_given():
    options = {"engine": "ctranslate2", "language": "en"}
    plain, told = (
        next(iter(asrbatch_package.transcribe(SPEECH / "hotwords.mp3", **options, **hotwords))).text
        for hotwords in ({}, {"hotwords": "ComfyUI, Dashwood"})
    )
    assert "ComfyUI" not in plain
    assert told.count("ComfyUI") == 2
    assert "Dashwood" not in told


@pytest.mark.parametrize("seed", [2, 8])
def test_clips_joined_to_five_minutes_lose_nothing_at_the_cuts(seed, clips, tmp_path):
    random = Random(seed)
    parts, said = [], []
    while sum(map(len, parts)) < 300 * SAMPLE_RATE:
        for key in random.sample(list(REFERENCES), len(REFERENCES)):
            pause = np.zeros(round(random.uniform(0.1, 2) * SAMPLE_RATE), np.float32)
            parts += [waveform(*key), pause]
            said.append(key)
    joined = np.concatenate(parts)
    soundfile.write(tmp_path / "joined.wav", joined, SAMPLE_RATE)

    (transcript,) = asrbatch_package.transcribe(tmp_path / "joined.wav", engine="ctranslate2")

    bounds = [
        (round(s.start_s * SAMPLE_RATE), round(s.end_s * SAMPLE_RATE)) for s in transcript.segments
    ]
    # What lies between them are pauses over 2 s.
    assert all(left[1] <= right[0] for left, right in pairwise(bounds))
    heard = sum(end - start for start, end in bounds)
    assert heard + round(transcript.skipped_s * SAMPLE_RATE) == len(joined)
    own = word_error_rate([(REFERENCES[key], clips[key]) for key in said])
    wer = word_error_rate([(" ".join(REFERENCES[key] for key in said), transcript.text)])
    print(f"WER joined: {wer:.2%}, of the clips: {own:.2%}")
    assert wer <= own + 0.015


def test_every_format_says_the_same_words(tmp_path):
    audio = tmp_path / "in"
    audio.mkdir()
    for make in GOOD_FORMATS.values():
        make(audio)
    done = asrbatch(
        "transcribe", audio, "--out", tmp_path / "results.jsonl", "--raw-format", "s16le:16000:1"
    )
    assert done.returncode == 0, done.stderr
    rows = {row["path"]: row for row in read_jsonl(tmp_path / "results.jsonl")}
    assert len(rows) == len(GOOD_FORMATS)
    texts = {path: row["text"] for path, row in rows.items()}
    original = (
        "Had he married a more amiable woman, he might have been made still more respectable than"
        " he was."
    )
    assert {path: text for path, text in texts.items() if text != original} == {}
    assert {path: row["flags"] for path, row in rows.items() if row["flags"]} == {}


def test_one_bad_file_of_each_kind_costs_one_line_each(tmp_path):
    audio = tmp_path / "in"
    audio.mkdir()
    bad = {kind: make(audio).name for kind, make in BAD_KINDS.items()}
    samples, rate = soundfile.read(SPEECH / "lj20.wav")
    for i in range(40):
        soundfile.write(audio / f"good-{i:02}.wav", samples * (1 - i / 100), rate)
    out = tmp_path / "results.jsonl"

    done = asrbatch("transcribe", audio, "--out", out)

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    rows = {row["path"]: row for row in read_jsonl(out)}
    truncated = bad.pop("truncated")
    assert rows.pop(truncated)["flags"] == ["truncated"]
    assert sorted(rows) == [f"good-{i:02}.wav" for i in range(40)]
    failures = {row["path"]: row for row in read_jsonl(tmp_path / "results.failures.jsonl")}
    assert sorted(failures) == sorted(bad.values())
    for failure in failures.values():
        assert failure["stage"] in {"probe", "decode"}
        assert failure["error"] in {"AudioProbeError", "AudioDecodeError"}
        assert failure["message"]
        assert failure["attempts"] == 1


def test_an_unreadable_file_is_a_failure_with_its_reason(tone, tmp_path):
    tone("good.wav", folder=tmp_path / "in")
    tone("secret.wav", folder=tmp_path / "in").chmod(0)
    done = asrbatch(
        "transcribe", tmp_path / "in", "--engine", "null", "--out", tmp_path / "results.jsonl",
        preexec_fn=_give_up_reading_everything,
    )  # fmt: skip
    assert done.returncode == 1
    (failure,) = read_jsonl(tmp_path / "results.failures.jsonl")
    assert failure["path"] == "secret.wav"
    assert "ermission denied" in failure["message"]


def _give_up_reading_everything():
    """Let permissions hold for root too (capabilities 1 and 2 of linux/capability.h)."""
    if os.geteuid() == 0:
        import ctypes

        drop_from_bounding_set = 24
        libc = ctypes.CDLL(None)
        for capability in (1, 2):
            assert libc.prctl(drop_from_bounding_set, capability, 0, 0, 0) == 0
