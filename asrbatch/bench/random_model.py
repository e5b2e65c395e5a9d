"""A model of the published architecture with no weights, so that any GPU machine can be measured.

The shapes are those of the published configurations of Qwen3-ASR; vLLM fills them with random
numbers (`load_format="dummy"`), so that speed and memory are those of the real model, and the text
is nonsense of a fixed length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from asrbatch.data import SAMPLE_RATE
from asrbatch.engines.vllm_settings import TEXT_TOKENS_PER_S
from asrbatch.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

SHAPES: dict[str, dict[str, int]] = {
    "qwen3-asr-0.6b": {
        "d_model": 896, "encoder_layers": 18, "encoder_attention_heads": 14,
        "encoder_ffn_dim": 3584, "hidden_size": 1024, "intermediate_size": 3072,
    },
    "qwen3-asr-1.7b": {
        "d_model": 1024, "encoder_layers": 24, "encoder_attention_heads": 16,
        "encoder_ffn_dim": 4096, "hidden_size": 2048, "intermediate_size": 6144,
    },
}  # fmt: skip

VOCABULARY = 151_936
END_OF_TEXT, TURN_START, TURN_END = 151_643, 151_644, 151_645
AUDIO_START, AUDIO_END, AUDIO_PAD, ASR_TEXT = 151_669, 151_670, 151_676, 151_704

SPECIAL_TOKENS = {
    END_OF_TEXT: "<|endoftext|>", TURN_START: "<|im_start|>", TURN_END: "<|im_end|>",
    AUDIO_START: "<|audio_start|>", AUDIO_END: "<|audio_end|>", AUDIO_PAD: "<|audio_pad|>",
    ASR_TEXT: "<asr_text>",
}  # fmt: skip


def write_random_model(folder: Path, name: str) -> dict[str, Any]:
    """Write everything of a model but its weights.

    Args:
        folder: Where to; its own name is that of the model in the results.
        name: One of `SHAPES`, in any case.

    Returns:
        Options of a run that uses it.

    Raises:
        ConfigError: There is no such model.
    """
    shape = SHAPES.get(name.lower())
    if shape is None:
        msg = f"random weights: {name!r} is not known; choose {' or '.join(SHAPES)}"
        raise ConfigError(msg)
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "config.json": _config(shape),
        "generation_config.json": {"eos_token_id": [END_OF_TEXT, TURN_END]},
        "preprocessor_config.json": {
            "feature_extractor_type": "WhisperFeatureExtractor", "feature_size": 128, "n_fft": 400,
            "hop_length": 160, "chunk_length": 30, "n_samples": 30 * SAMPLE_RATE,
            "nb_max_frames": 3000, "padding_side": "right", "padding_value": 0.0, "dither": 0.0,
            "sampling_rate": SAMPLE_RATE, "return_attention_mask": True,
            "processor_class": "Qwen3ASRProcessor",
        },
        "tokenizer.json": _tokenizer(),
        "tokenizer_config.json": {
            "tokenizer_class": "Qwen2TokenizerFast", "eos_token": SPECIAL_TOKENS[TURN_END],
            "pad_token": SPECIAL_TOKENS[END_OF_TEXT], "audio_token": SPECIAL_TOKENS[AUDIO_PAD],
            "audio_bos_token": SPECIAL_TOKENS[AUDIO_START],
            "audio_eos_token": SPECIAL_TOKENS[AUDIO_END],
        },
    }  # fmt: skip
    for file, content in files.items():
        (folder / file).write_bytes(orjson.dumps(content))
    return {
        "engine": "vllm",
        "model": str(folder),
        "vllm": {"load_format": "dummy"},
        "tokens_per_s": float(TEXT_TOKENS_PER_S),
    }


def merge_options(typed: dict[str, Any], random: dict[str, Any]) -> dict[str, Any]:
    """Options of a run with such a model; what was typed for vLLM besides stays.

    Raises:
        ConfigError: A model was typed too.
    """
    if random and typed.get("model") is not None:
        msg = f"random weights: --model {typed['model']} is another model; give one of the two"
        raise ConfigError(msg)
    vllm = random.get("vllm", {}) | typed.get("vllm", {})
    return typed | random | ({"vllm": vllm} if vllm else {})


def _config(shape: dict[str, int]) -> dict[str, Any]:
    encoder = {
        name: shape[name]
        for name in ("d_model", "encoder_layers", "encoder_attention_heads", "encoder_ffn_dim")
    }
    text = {name: shape[name] for name in ("hidden_size", "intermediate_size")}
    return {
        "architectures": ["Qwen3ASRForConditionalGeneration"],
        "model_type": "qwen3_asr",
        "dtype": "bfloat16",
        "support_languages": ["Chinese", "English"],
        "thinker_config": {
            "model_type": "qwen3_asr_thinker",
            "audio_token_id": AUDIO_PAD,
            "audio_start_token_id": AUDIO_START,
            "audio_end_token_id": AUDIO_END,
            "audio_config": encoder | {
                "model_type": "qwen3_asr_audio_encoder", "output_dim": shape["hidden_size"],
                "num_hidden_layers": shape["encoder_layers"], "num_mel_bins": 128,
                "downsample_hidden_size": 480, "n_window": 50, "n_window_infer": 800,
                "conv_chunksize": 500, "max_source_positions": 1500, "activation_function": "gelu",
                "scale_embedding": False,
            },
            "text_config": text | {
                "model_type": "qwen3_asr_text", "vocab_size": VOCABULARY, "num_hidden_layers": 28,
                "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
                "hidden_act": "silu", "rms_norm_eps": 1e-6, "rope_theta": 1_000_000.0,
                "max_position_embeddings": 65_536, "attention_bias": False,
                "tie_word_embeddings": True,
                "rope_scaling": {
                    "rope_type": "default", "mrope_section": [24, 20, 20],
                    "mrope_interleaved": True, "interleaved": True,
                },
            },
        },
    }  # fmt: skip


def _tokenizer() -> dict[str, Any]:
    """Byte-level BPE without merges; the ids that matter are those of the real one."""
    vocabulary = {character: i for i, character in enumerate(_byte_characters())}
    vocabulary |= {f"<unused{i}>": i for i in range(len(vocabulary), END_OF_TEXT)}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    added = [
        flags | {"id": i, "content": SPECIAL_TOKENS.get(i, f"<|unused{i}|>"), "special": True}
        for i in range(END_OF_TEXT, ASR_TEXT + 1)
    ]
    added[-1]["special"] = False
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    return {
        "version": "1.0",
        "added_tokens": added,
        "pre_tokenizer": byte_level | {"use_regex": True},
        "decoder": byte_level | {"use_regex": True},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
    }


def _byte_characters() -> list[str]:
    """The printable character that stands for each byte (openai/gpt-2, `encoder.py`)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    characters = {byte: chr(byte) for byte in printable}
    characters |= {byte: chr(256 + i) for i, byte in enumerate(others)}
    return [characters[byte] for byte in range(256)]
