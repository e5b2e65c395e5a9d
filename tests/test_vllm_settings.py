"""vLLM's settings by the card: what the README's table says, and that the user has the last word."""

import json
import re
from pathlib import Path

import pytest

from asrbatch.engines import EngineConfig, ModelSpec
from asrbatch.engines.vllm_settings import (
    Card,
    engine_settings,
    kv_bytes_per_token,
    settings_for,
)
from tests.conftest import MODELS

WEIGHTS_GB = {"0.6B": 1.56, "1.7B": 4.08}
CARDS = {
    "T4": Card(15_800_000_000, (7, 5)),
    "L4, A10": Card(23_600_000_000, (8, 6)),
    "A100 40 GB": Card(42_300_000_000, (8, 0)),
    "L40S": Card(47_600_000_000, (8, 9)),
    "A100 80 GB, H100": Card(85_000_000_000, (8, 0)),
    "H200": Card(150_000_000_000, (9, 0)),
}


def model(folder, name):
    with (folder / "model.safetensors").open("wb") as file:
        file.truncate(round(WEIGHTS_GB[name] * 1e9))
    return folder


def test_the_table_in_the_readme_is_what_is_chosen(tmp_path):
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    for name, card in CARDS.items():
        small = settings_for(card, model(tmp_path, "0.6B"), 30, 0.9)
        large = settings_for(card, model(tmp_path, "1.7B"), 30, 0.9)
        row = (
            f"| {name} | {small['max_num_seqs']} | {large['max_num_seqs']} | "
            f"{small['max_num_batched_tokens']} | {small['dtype']} |"
        )
        assert re.search(rf"^{re.escape(row)}$", readme, re.M), row


def test_longer_segments_leave_room_for_fewer(tmp_path):
    card = CARDS["L4, A10"]
    chosen = [
        settings_for(card, model(tmp_path, "1.7B"), seconds, 0.9) for seconds in (30, 120, 1200)
    ]
    sequences = [one["max_num_seqs"] for one in chosen]
    assert sequences == sorted(sequences, reverse=True)
    assert sequences[0] > sequences[1]
    assert chosen[2]["max_num_batched_tokens"] >= 1200 * 13


def test_a_card_that_is_full_with_the_weights_still_gets_some(tmp_path):
    assert settings_for(Card(6 * 10**9), model(tmp_path, "1.7B"), 30, 0.5)["max_num_seqs"] == 16


def test_keys_and_values_are_counted_from_the_configuration():
    assert kv_bytes_per_token(MODELS / "qwen3-asr-words") == 2 * 3 * 3 * 32 * 2
    assert kv_bytes_per_token(MODELS / "qwen3-asr-words-original") == 2 * 3 * 3 * 32 * 2
    assert kv_bytes_per_token(None) == 112 * 1024


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (EngineConfig("vllm"), {"max_num_seqs": 512, "dtype": "auto"}),
        (EngineConfig("vllm", max_num_seqs=7), {"max_num_seqs": 7}),
        (EngineConfig("vllm", dtype="float32"), {"dtype": "float32"}),
        (
            EngineConfig("vllm", vllm={"kv_cache_dtype": "fp8", "max_num_batched_tokens": 4096}),
            {"kv_cache_dtype": "fp8", "max_num_batched_tokens": 4096},
        ),
    ],
)
def test_what_the_user_sets_stays(config, expected):
    path = MODELS / "qwen3-asr-words"
    spec = ModelSpec("vllm", "words", path, json.loads((path / "config.json").read_text())["dtype"])
    settings = engine_settings(spec, config, CARDS["H200"], "qwen3_asr")
    assert {name: settings[name] for name in expected} == expected
