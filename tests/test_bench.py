"""`asrbatch bench`: on generated audio, with engines that need no checkpoint."""

import json

import pytest

from asrbatch.bench import generate_clips, parse_lengths, parse_sweep, write_random_model
from asrbatch.bench.sweep import knee, save_knee
from asrbatch.errors import ConfigError
from tests.conftest import asrbatch


@pytest.mark.slow
def test_it_prints_what_was_measured_as_json(tmp_path):
    done = asrbatch(
        "bench", "--engine", "null", "--clips", "6", "--lengths", "fixed:2", "--workers", "1",
        "--compare", "serial,generate", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["segments"], result["audio_s"], result["runs"]) == (6, 12.0, 3)
    assert result["rtfx"] > 0
    assert result["failures"] == 0
    assert result["compare"].keys() == {"serial", "generate"}
    assert result["environment"]["cores"] >= 1
    assert result["latency_s"].keys() == {"p50", "p95", "p99"}


@pytest.mark.slow
def test_a_sweep_names_the_knee_saves_it_and_draws_it(tmp_path):
    done = asrbatch(
        "bench", "--engine", "null", "--clips", "2", "--lengths", "fixed:1", "--sweep", "4,8",
        "--save-config", "bench.toml", "--plot", "bench.png", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "knee" in done.stderr
    assert (tmp_path / "bench.toml").read_text().splitlines()[1].startswith("max-num-seqs = ")
    assert (tmp_path / "bench.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--sweep", "8,0"], "sweep: '0'"),
        (["--concurrency", "0"], "max num seqs: 0"),
        (["--runs", "2"], "runs: 2"),
        (["--clips", "0"], "clips: 0"),
        (["--lengths", "gamma:2"], "lengths: 'gamma:2'"),
        (["--compare", "magic"], "compare: magic"),
        (["--save-config", "x.toml"], "save config: there is no sweep"),
        (["--random-weights", "qwen3-asr-0.6b", "--model", "x"], "give one of the two"),
    ],
)
def test_wrong_usage_exits_2_with_one_line(arguments, says, tmp_path):
    done = asrbatch("bench", "--engine", "null", "--clips", "1", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_the_same_seed_makes_the_same_clips(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        generate_clips(tmp_path / name, parse_lengths("uniform:1,3"), 3)
    one, two = (sorted((tmp_path / name).iterdir()) for name in ("one", "two"))
    assert [p.read_bytes() for p in one] == [p.read_bytes() for p in two]


def test_the_knee_is_the_fewest_sequences_near_the_best():
    results = [
        {"concurrency": 32, "rtfx": 80.0},
        {"concurrency": 64, "rtfx": 97.0},
        {"concurrency": 128, "rtfx": 100.0},
        {"concurrency": 256, "error": "out of memory"},
    ]
    assert knee(results) == 64


def test_where_every_measurement_failed_there_is_nothing_to_save(tmp_path):
    with pytest.raises(ConfigError, match="every measurement failed"):
        save_knee([{"concurrency": 1, "error": "x"}], tmp_path / "x.toml")


def test_a_sweep_is_sorted_and_has_no_repeats():
    assert parse_sweep("64,32, 64") == [32, 64]


@pytest.mark.slow
def test_a_published_architecture_runs_in_vllm_without_its_weights(tmp_path):
    done = asrbatch(
        "bench", "--random-weights", "qwen3-asr-0.6b", "--clips", "3", "--lengths", "fixed:2",
        "--json", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["model"] == "qwen3-asr-0.6b-random"
    assert result["failures"] == 0
    # Four tokens for each of six seconds, whatever comes.
    assert result["output_tokens_per_s"] * 6 / result["rtfx"] == pytest.approx(24, rel=0.05)


def test_an_unknown_architecture_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"qwen3-asr-0\.6b or qwen3-asr-1\.7b"):
        write_random_model(tmp_path, "qwen3-asr-9b")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["qwen3-asr-0.6b", "Qwen3-ASR-1.7B"])
def test_the_tokenizer_of_a_random_model_has_the_ids_of_the_real_one(name, tmp_path):
    from transformers import AutoTokenizer

    options = write_random_model(tmp_path / "model", name)
    tokenizer = AutoTokenizer.from_pretrained(options["model"])
    assert tokenizer("<|im_start|><|audio_pad|><asr_text>").input_ids == [151644, 151676, 151704]
    assert tokenizer.decode(tokenizer("Grüße, 你好").input_ids) == "Grüße, 你好"
