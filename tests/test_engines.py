"""Choosing an engine and a model before anything is loaded, and the small engines."""

import numpy as np
import pytest

from asrbatch.data import Segment
from asrbatch.engines import EngineConfig, load_engine, resolve_model
from asrbatch.engines.base import token_budget
from asrbatch.engines.models import directory_digest
from asrbatch.errors import ConfigError, EngineError
from asrbatch.mel import pad_waveform
from tests.conftest import MODELS


def segment(seconds=1.0, **fields):
    return Segment("a.wav", 0, 0, round(16_000 * seconds), "end", **fields)


def test_auto_takes_the_packaged_model_where_there_is_no_gpu():
    spec = resolve_model(EngineConfig())
    assert (spec.engine, spec.name) == ("ctranslate2", "tiny.en")
    assert "English only" in spec.note
    assert "--model small" in spec.note


def test_auto_takes_the_engine_that_a_directory_is_for():
    spec = resolve_model(EngineConfig(model=str(MODELS / "qwen3-asr-words")))
    assert (spec.engine, spec.name) == ("vllm", "qwen3-asr-words")


@pytest.mark.parametrize(
    ("engine", "model", "says"),
    [
        ("whisper", None, "'whisper' is not known; choose auto, vllm, ctranslate2 or null"),
        ("ctranslate2", "tinny", "'tinny' is neither a folder nor a known name"),
        ("ctranslate2", str(MODELS / "qwen3-asr-words"), "no model.bin"),
        ("ctranslate2", "nobody/nothing-at-all", "not in the cache"),
        ("vllm", "tinny", "'tinny' is neither a folder nor a name of the hub"),
        ("vllm", str(MODELS), "needs config.json"),
        ("vllm", "nobody/nothing-at-all", "not in the cache"),
    ],
)
def test_an_unknown_engine_or_model_is_refused_before_loading(engine, model, says):
    with pytest.raises(ConfigError, match=says):
        resolve_model(EngineConfig(engine=engine, model=model))


@pytest.mark.parametrize("engine", ["ctranslate2", "vllm"])
def test_a_kind_of_numbers_that_the_engine_does_not_know_is_refused(engine):
    with pytest.raises(ConfigError, match="'float33' is not known"):
        resolve_model(EngineConfig(engine=engine, dtype="float33"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("batch_size", 0),
        ("max_num_seqs", 0),
        ("cpu_threads", -1),
        ("cpu_threads", 100_000),
        ("gpu_memory_utilization", 1.5),
    ],
)
def test_an_impossible_setting_is_refused(field, value):
    with pytest.raises(ConfigError, match=str(value)):
        EngineConfig(**{field: value})


def test_the_digest_of_a_model_changes_with_its_weights(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(bytes(3 << 20))
    before = directory_digest(tmp_path)
    with (tmp_path / "model.safetensors").open("rb+") as file:
        file.seek(-1, 2)
        file.write(b"1")
    assert directory_digest(tmp_path) != before


def test_tampered_packaged_weights_are_not_loaded(tmp_path):
    from dataclasses import replace

    (tmp_path / "model.bin").write_bytes(b"not the weights")
    spec = replace(resolve_model(EngineConfig(engine="ctranslate2")), path=tmp_path)
    with pytest.raises(EngineError, match="SHA-256"):
        load_engine(spec, EngineConfig())


def test_the_token_budget_follows_the_duration():
    assert token_budget(segment(30), None) == 424
    assert token_budget(segment(0.5), None) == 70
    assert token_budget(segment(30), 100) == 100


def test_short_clips_are_padded_to_a_second():
    assert len(pad_waveform(np.ones(10, np.float32))) == 16_000
    long = np.ones(16_001, np.float32)
    assert pad_waveform(long) is long


def test_the_null_engine_answers_everything_with_nothing():
    config = EngineConfig(engine="null")
    engine = load_engine(resolve_model(config), config)
    engine.submit(segment(), np.zeros(16_000, np.float32))
    assert engine.outstanding == 1
    assert [h.text for h in engine.step()] == [""]
    assert engine.outstanding == 0
