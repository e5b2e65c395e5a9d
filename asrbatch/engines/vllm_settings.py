"""What vLLM is told: by what the card and the model are, then by us, then by the user.

Settings by the card are calculated, not tried out: `asrbatch bench --sweep` measures a card.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from asrbatch.engines.models import read_json

if TYPE_CHECKING:
    from pathlib import Path

    from asrbatch.engines.base import EngineConfig, ModelSpec

DEFAULT_MODEL_LEN = 4096
"""A segment of 30 s takes 390 audio tokens and at most 424 of text; the rest is for context."""

LONGEST_S = 30.0
"""Seconds of a segment that the card's settings are made for; longer ones wait for each other."""

AUDIO_TOKENS_PER_S = 13
TEXT_TOKENS_PER_S = 4
PROMPT_TOKENS = 30
"""Of Qwen3-ASR: a token for each 80 ms of a one-second tile; what speech makes; the rest."""

RESERVE_BYTES = 3 * 10**9
"""For activations, CUDA graphs and what the driver takes."""

MIN_SEQS, MAX_SEQS = 16, 512
"""More than 512 gain nothing: the weights are then read once for many tokens as it is."""

CPU_SEQS = 64
"""Two cores are full long before (BENCHMARKS.md)."""

LARGE_CARD_BYTES = 70 * 10**9
BATCHED_TOKENS, LARGE_BATCHED_TOKENS = 8192, 16384
"""In one step; vLLM's own choice for large cards. They also bound the longest audio."""

BFLOAT16_CAPABILITY = (8, 0)
"""Ampere; cards before it compute bfloat16 slowly or not at all."""

UNKNOWN_WEIGHTS_BYTES = 4 * 10**9
"""Where there are no weights to look at: the larger of the two published models."""

BFLOAT16_BYTES = 2


@dataclass(frozen=True, slots=True)
class Card:
    """A GPU."""

    memory_bytes: int
    capability: tuple[int, int] = BFLOAT16_CAPABILITY


def find_card() -> Card | None:
    """The first GPU; None where there is none."""
    import torch

    if not torch.cuda.is_available():
        return None
    properties = torch.cuda.get_device_properties(0)
    return Card(int(properties.total_memory), (properties.major, properties.minor))


def engine_settings(
    spec: ModelSpec, config: EngineConfig, card: Card | None, model_type: str
) -> dict[str, Any]:
    """Everything that `vllm.LLM` is told: by the card, then by us, then by the user."""
    model_len = config.max_model_len
    if model_len is None and model_type != "whisper":
        model_len = DEFAULT_MODEL_LEN
    settings = settings_for(card, spec.path, LONGEST_S, config.gpu_memory_utilization) | {
        "model": str(spec.path),
        "max_model_len": model_len,
        "gpu_memory_utilization": config.gpu_memory_utilization,
        "tensor_parallel_size": config.tensor_parallel_size,
        # Without a GPU there is no Triton to compile for.
        "enforce_eager": config.enforce_eager or card is None,
        "limit_mm_per_prompt": {"audio": 1},
        # Log-mels come from the workers; computed in here they would come one by one.
        "enable_mm_embeds": spec.mel is not None,
        # Both, or each clip is hashed for caches that unique audio never hits.
        "mm_processor_cache_gb": 0,
        "enable_prefix_caching": False,
        "disable_log_stats": False,
        "seed": 0,
    }
    if config.max_num_seqs is not None:
        settings["max_num_seqs"] = config.max_num_seqs
    if config.dtype != "auto":
        settings["dtype"] = config.dtype
    return settings | dict(config.vllm)


def settings_for(
    card: Card | None, model: Path | None, chunk_s: float, gpu_memory_utilization: float
) -> dict[str, Any]:
    """VLLM's settings by their names.

    Args:
        card: None is the CPU.
        model: Directory with config.json and weights.
        chunk_s: Seconds of the longest segment.
        gpu_memory_utilization: Share of the memory that vLLM may take.
    """
    if card is None:
        return {"max_num_seqs": CPU_SEQS}
    is_large = card.memory_bytes >= LARGE_CARD_BYTES
    longest = 1 << math.ceil(AUDIO_TOKENS_PER_S * chunk_s + PROMPT_TOKENS - 1).bit_length()
    tokens = (AUDIO_TOKENS_PER_S + TEXT_TOKENS_PER_S) * chunk_s + PROMPT_TOKENS
    room = card.memory_bytes * gpu_memory_utilization - _weights_bytes(model) - RESERVE_BYTES
    fitting = max(1, int(room / (tokens * kv_bytes_per_token(model))))
    return {
        # A power of two: CUDA graphs are captured for those.
        "max_num_seqs": min(MAX_SEQS, max(MIN_SEQS, 1 << fitting.bit_length() - 1)),
        "max_num_batched_tokens": max(
            LARGE_BATCHED_TOKENS if is_large else BATCHED_TOKENS, longest
        ),
        "dtype": "auto" if card.capability >= BFLOAT16_CAPABILITY else "half",
    }


def kv_bytes_per_token(model: Path | None) -> int:
    """Bytes of keys and values of one token; those of Qwen3-ASR where a model does not say."""
    found = read_json(model / "config.json") if model else {}
    text = found.get("thinker_config", found).get("text_config", {})
    layers = text.get("num_hidden_layers", 28)
    heads, size = text.get("num_key_value_heads", 8), text.get("head_dim", 128)
    return int(2 * layers * heads * size * BFLOAT16_BYTES)


def _weights_bytes(model: Path | None) -> int:
    files = list(model.glob("*.safetensors")) if model else []
    return sum(path.stat().st_size for path in files) or UNKNOWN_WEIGHTS_BYTES
