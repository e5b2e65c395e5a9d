"""Engines behind one small protocol, each imported only when it is chosen."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from asrbatch.engines.aligned_engine import AlignedEngine
from asrbatch.engines.aligner import Aligner
from asrbatch.engines.base import Engine, EngineConfig, ModelSpec
from asrbatch.engines.models import resolve_model
from asrbatch.engines.vllm_settings import CPU_SEQS

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "CPU_SEQS",
    "ENGINES",
    "Engine",
    "EngineConfig",
    "ModelSpec",
    "load_engine",
    "resolve_model",
]

ENGINES: dict[str, str] = {
    "vllm": "asrbatch.engines.vllm_engine:VllmEngine",
    "ctranslate2": "asrbatch.engines.ctranslate2_engine:CTranslate2Engine",
    "null": "asrbatch.engines.null_engine:NullEngine",
}
"""Module and class of each engine."""


def load_engine(spec: ModelSpec, config: EngineConfig) -> Engine:
    """Load the engine that `resolve_model` found.

    Raises:
        EngineError: It cannot start.
    """
    module, _, name = ENGINES[spec.engine].partition(":")
    make: Callable[[ModelSpec, EngineConfig], Engine] = getattr(import_module(module), name)
    engine = make(spec, config)
    if spec.aligner is None:
        return engine
    try:
        return AlignedEngine(engine, Aligner(spec.aligner))
    except BaseException:
        engine.close()
        raise
