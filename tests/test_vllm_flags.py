"""vLLM's own settings as options: on the command line, in a file, from Python."""

import pytest
import typer

from asrbatch.cli.vllm_flags import take_vllm_options
from asrbatch.engines import EngineConfig, ModelSpec
from asrbatch.errors import ConfigError
from asrbatch.options import build_config
from asrbatch.pipeline import RunConfig
from tests.conftest import MODELS, WORDS, asrbatch, read_jsonl

OURS = {"--out", "--max-num-seqs"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "rest", "values"),
    [
        (["a.wav"], ["a.wav"], {}),
        (["--kv-cache-dtype", "fp8", "a.wav"], ["a.wav"], {"kv_cache_dtype": "fp8"}),
        (["--kv_cache_dtype=fp8"], [], {"kv_cache_dtype": "fp8"}),
        (["--max-num-batched-tokens", "16k"], [], {"max_num_batched_tokens": 16_000}),
        (["--async-scheduling", "a.wav"], ["a.wav"], {"async_scheduling": True}),
        (["--no-async-scheduling"], [], {"async_scheduling": False}),
        (["--hf-overrides", '{"a": 1}'], [], {"hf_overrides": {"a": 1}}),
        (["--compilation-config", '{"mode": 3}'], [], {"compilation_config": {"mode": 3}}),
        (
            ["--cudagraph-capture-sizes", "1", "2", "--out", "x"],
            ["--out", "x"],
            {"cudagraph_capture_sizes": [1, 2]},
        ),
        (["--max-num-seqs", "5"], ["--max-num-seqs", "5"], {}),
        (["--", "--kv-cache-dtype"], ["--", "--kv-cache-dtype"], {}),
        (["--kv-cache-dtyp", "fp8"], ["--kv-cache-dtyp", "fp8"], {}),
    ],
)
def test_they_are_told_from_ours(typed, rest, values):
    assert take_vllm_options(typed, OURS) == (rest, values)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (["--kv-cache-dtype", "fp7"], "'fp7' is none of auto"),
        (["--kv-cache-dtype"], "requires a value"),
        (["--max-num-batched-tokens", "many"], "--max-num-batched-tokens: "),
        (["--compilation-config", "{"], "--compilation-config: "),
    ],
)
def test_a_value_that_vllm_does_not_take_is_said(typed, says):
    with pytest.raises(typer.BadParameter, match=says):
        take_vllm_options(typed, OURS)


def test_they_are_part_of_what_can_change_a_text_unless_they_are_speed():
    spec = ModelSpec("vllm", "words", None, "1")

    def options(**vllm):
        config = RunConfig(("x",), engine=EngineConfig("vllm", vllm=vllm))
        return config.text_options(spec, build_source())

    assert options(kv_cache_dtype="fp8") != options()
    assert options(max_num_batched_tokens=4096) == options()


def build_source():
    from asrbatch.data import Source

    return Source("a.wav", "a.wav")


@pytest.mark.slow
def test_they_reach_vllm_from_the_command_line_and_from_a_file(tmp_path):
    clip = WORDS / "en-00.flac"
    (tmp_path / "engine.toml").write_text("[vllm]\nblock_size = 32\nno_such_setting = 1\n")
    model = ("--engine", "vllm", "--model", MODELS / "qwen3-asr-words", "--dtype", "float32")
    done = asrbatch("transcribe", clip, *model, "--config", "engine.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "no_such_setting is no setting of this vLLM" in done.stderr
    (tmp_path / "engine.toml").write_text("[vllm]\nblock_size = 32\nkv_cache_dtype = 'fp7'\n")
    typed = ("--config", "engine.toml", "--kv-cache-dtype", "auto", "--quiet")
    done = asrbatch("transcribe", clip, *model, *typed, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(read_jsonl(tmp_path / "results.jsonl")) == 1


def test_from_python_they_are_an_option_of_their_own(tone, tmp_path):
    tone("a.wav")
    config = build_config(tmp_path, {"vllm": {"kv_cache_dtype": "fp8"}})
    assert config.engine.vllm == {"kv_cache_dtype": "fp8"}
    with pytest.raises(ConfigError, match="max_num_seqs is an option of its own"):
        build_config(tmp_path, {"vllm": {"max_num_seqs": 5}})
    with pytest.raises(ConfigError, match="is no table of settings"):
        build_config(tmp_path, {"vllm": ["kv_cache_dtype"]})
