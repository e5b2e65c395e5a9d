"""The command line: wrong usage is said in one line before anything is loaded."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import SPEECH, WORDS, asrbatch, read_jsonl


def test_help_imports_nothing_heavy():
    code = """
import sys
from asrbatch.cli import main
sys.argv = ["asrbatch", "--help"]
try:
    main()
except SystemExit:
    pass
heavy = {"torch", "vllm", "transformers", "onnxruntime", "av", "numpy", "soundfile", "soxr", "faster_whisper"}
raise SystemExit(sorted(heavy & sys.modules.keys()) or 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Transcribe folders of audio in batches" in done.stdout


def test_version():
    assert asrbatch("--version").stdout.startswith("asrbatch 0.")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["no-such-folder"], "no-such-folder"),
        (["."], "--ext any"),
        ([], "inputs"),
        ([SPEECH, "--out", "missing/results.jsonl"], "there is no folder missing"),
        ([SPEECH, "--out", "."], "is a folder"),
        ([SPEECH, "--out", "/dev/full"], "no regular file"),
        ([SPEECH, "--model", "tinny", "--engine", "ctranslate2"], "'tinny'"),
        ([SPEECH, "--workers", "0"], "workers: 0"),
        ([SPEECH, "--engine", "whisper"], "choose auto, vllm, ctranslate2 or null"),
        ([SPEECH, "--language", "klingon"], "'klingon'"),
        ([SPEECH, "--language", "zh", "--engine", "ctranslate2"], "English only"),
        ([SPEECH, "--chunk-seconds", "1"], "give 2 to 1200"),
        ([SPEECH, "--batch-seconds", "10"], "batch seconds"),
        ([SPEECH, "--raw-format", "s17le:16000:1"], "s16le:16000:1"),
        ([SPEECH, "--workers", "-1"], "workers"),
        ([SPEECH, "--padding-ratio", "0.5"], "padding ratio"),
    ],
)
def test_wrong_usage_exits_2_with_one_line(arguments, says, tmp_path):
    done = asrbatch("transcribe", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "results.jsonl").exists()


def test_an_output_that_is_an_input_is_refused(tone, tmp_path):
    path = tone("a.wav")
    before = path.read_bytes()
    done = asrbatch("transcribe", path, "--out", path, "--overwrite", "--engine", "null")
    assert done.returncode == 2
    assert path.read_bytes() == before


def test_underscores_do_as_well_as_dashes(tone, tmp_path):
    tone("a.wav")
    done = asrbatch("transcribe", ".", "--engine", "null", "--chunk_seconds", "20", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_standard_output_carries_results_only_where_asked(tone, tmp_path):
    tone("a.wav")
    to_file = asrbatch("transcribe", ".", "--engine", "null", cwd=tmp_path)
    assert to_file.stdout == ""
    to_stdout = asrbatch("transcribe", ".", "--engine", "null", "--out", "-", cwd=tmp_path)
    assert json.loads(to_stdout.stdout)["path"] == "a.wav"


@pytest.mark.slow
def test_a_full_or_closed_standard_output_is_said_in_one_line(tone, tmp_path):
    tone("a.wav")
    command = f"{sys.executable} -m asrbatch transcribe . --engine null --out - --quiet"
    for redirection, says in ((">/dev/full", "No space left"), (">&-", "is closed")):
        done = subprocess.run(
            f"{command} {redirection}", shell=True, capture_output=True, text=True, check=False,
            cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(Path.cwd())},
        )  # fmt: skip
        assert done.returncode == 3
        assert says in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


def test_quiet_says_nothing_when_all_is_well(tone, tmp_path):
    tone("a.wav")
    done = asrbatch("transcribe", ".", "--engine", "null", "--quiet", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_pipe_gets_plain_lines_and_the_table(tone, tmp_path):
    tone("a.wav")
    done = asrbatch("transcribe", ".", "--engine", "null", cwd=tmp_path)
    assert "\x1b" not in done.stderr
    assert "1 done, 0 failed, 0 skipped" in done.stderr


@pytest.mark.slow
def test_a_second_run_skips_what_is_done(tone, tmp_path):
    tone("a.wav")
    tone("b.wav")
    asrbatch("transcribe", ".", "--engine", "null", cwd=tmp_path)
    done = asrbatch("transcribe", ".", "--engine", "null", cwd=tmp_path)
    assert done.returncode == 0
    assert "0 done, 0 failed, 2 skipped" in done.stderr
    assert len(read_jsonl(tmp_path / "results.jsonl")) == 2


@pytest.mark.slow
def test_a_model_that_cannot_be_loaded_exits_3_and_touches_nothing(tone, tmp_path):
    tone("a.wav", folder=tmp_path / "in")
    asrbatch("transcribe", "in", "--engine", "null", cwd=tmp_path)
    before = (tmp_path / "results.jsonl").read_bytes()
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.bin").write_bytes(b"no weights")
    done = asrbatch("transcribe", "in", "--model", "model", "--overwrite", "--quiet", cwd=tmp_path)
    assert done.returncode == 3
    assert "cannot be loaded" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert (tmp_path / "results.jsonl").read_bytes() == before


def test_another_run_on_the_same_results_exits_75(tone, tmp_path):
    from asrbatch.ledger import Ledger

    tone("a.wav")
    ledger = Ledger(tmp_path / "results.jsonl")
    done = asrbatch("transcribe", ".", "--engine", "null", cwd=tmp_path)
    ledger.close()
    assert done.returncode == 75


def test_the_summary_tells_how_it_went(tone, tmp_path):
    tone("a.wav", seconds=2)
    asrbatch("transcribe", ".", "--engine", "null", cwd=tmp_path)
    summary = json.loads((tmp_path / "results.summary.json").read_text())
    assert summary["exit_reason"] == "done"
    assert summary["files"] == {"done": 1, "failed": 0, "skipped": 0}
    assert summary["audio_hours"] == pytest.approx(2 / 3600, abs=1e-6)
    assert {"scan", "probe", "plan", "load", "decode", "engine", "write"} <= summary[
        "wall_s"
    ].keys()


@pytest.mark.slow
def test_scan_prints_the_plan(tone, tmp_path):
    tone("a.wav", seconds=2)
    tone("b.wav", seconds=45)
    (tmp_path / "bad.wav").write_bytes(b"no audio")
    done = asrbatch("scan", ".", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for word in ("2 readable", "pcm_16", "16000 Hz", "padding ratio", "bad.wav", "estimated"):
        assert word in done.stderr
    plan = json.loads(asrbatch("scan", ".", "--json", cwd=tmp_path).stdout)
    assert (plan["files"], plan["segments"], len(plan["unreadable"])) == (2, 3, 1)
    assert plan["padding_ratio"] <= 1.2
    assert plan["audio_hours"] == pytest.approx(47 / 3600, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_run_with_its_code_and_keeps_what_is_done(number, code, tone, tmp_path):
    for i in range(40):
        tone(f"{i:02}.wav")
    process = subprocess.Popen(
        [sys.executable, "-m", "asrbatch", "transcribe", ".", "--engine", "ctranslate2"],
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": str(Path.cwd())},
    )
    results = tmp_path / "results.jsonl"
    while not results.exists() or not results.read_bytes():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(timeout=30) == code
    assert 1 <= len(read_jsonl(results)) < 40
    assert json.loads((tmp_path / "results.summary.json").read_text())["exit_reason"] == number.name


@pytest.mark.slow
def test_a_second_signal_ends_it_at_once_even_while_the_model_computes(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "asrbatch", "transcribe", WORDS, "--engine", "ctranslate2", "-v"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path.cwd())},
    )
    assert process.stderr
    assert "ctranslate2" in process.stderr.readline()
    time.sleep(3)  # it loads for a second, and then computes its first batch for several
    process.send_signal(signal.SIGINT)
    assert "once more to stop at once" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=1) == 130
    process.stderr.close()


def test_a_config_file_gives_defaults_and_what_is_typed_wins(tone, tmp_path):
    tone("a.wav")
    (tmp_path / "asr.toml").write_text('engine = "null"\nlanguage = "de"\nchunk-seconds = 5\n')
    done = asrbatch("transcribe", ".", "--config", "asr.toml", "-l", "fr", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (row,) = read_jsonl(tmp_path / "results.jsonl")
    assert (row["engine"], row["language"]) == ("null", "fr")


@pytest.mark.parametrize("text", ["no-such-option = 1", "not toml"])
def test_a_config_file_that_cannot_be_is_refused(text, tone, tmp_path):
    tone("a.wav")
    (tmp_path / "asr.toml").write_text(text)
    done = asrbatch("transcribe", ".", "--config", "asr.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "asr.toml" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_cache_is_filled_shown_and_shortened(tone, tmp_path):
    for i in range(3):
        tone(f"in/{i}.wav", seconds=2)
    env = os.environ | {"PYTHONPATH": str(Path.cwd()), "ASRBATCH_CACHE_DIR": str(tmp_path / "home")}
    features = ("--feature-cache", "features")

    def cache(*arguments):
        return asrbatch("cache", *arguments, *features, cwd=tmp_path, env=env)

    done = cache("warm", "in", "--engine", "null", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(cache("info", "--json").stdout)
    assert found["features"]["entries"] == 3
    assert found["results"]["entries"] == 0
    options = ("in", "--engine", "null", "--quiet", *features)
    asrbatch("transcribe", *options, cwd=tmp_path, env=env)
    assert json.loads((tmp_path / "results.summary.json").read_text())["features"] == {"disk": 3}
    done = cache("prune", "--feature-cache-gb", "0.0002", "--keep-results", "0")
    assert done.stdout == "results: 0 recordings deleted\nfeatures: 2 recordings deleted\n"
    assert json.loads(cache("info", "--json").stdout)["features"]["entries"] == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["warm", "a.wav"], "feature cache: none is named"),
        (["prune"], "nothing is named"),
        (["prune", "--keep-results", "-1"], "no number of 0 or more"),
        (["prune", "--feature-cache", "x", "--feature-cache-gb", "nan"], "no number of 0 or more"),
        (["info", "--feature-cache", "nowhere"], "there is no folder nowhere"),
        (["warm", "a.wav", "--feature-cache", "a.wav"], "is a file; name a folder"),
        (["warm", "a.wav", "--feature-cache", "x", "--feature-cache-gb", "nan"], "out of range"),
    ],
)
def test_a_cache_command_that_cannot_be_says_what_to_do(arguments, says, tone, tmp_path):
    tone("a.wav")
    env = os.environ | {"PYTHONPATH": str(Path.cwd()), "ASRBATCH_CACHE_DIR": str(tmp_path / "home")}
    done = asrbatch("cache", *arguments, cwd=tmp_path, env=env)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
