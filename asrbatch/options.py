"""The options of a run by their names, as the command line and the Python interface share them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from asrbatch.context import join_context, read_context, split_hotwords
from asrbatch.decode.raw import parse_raw_format
from asrbatch.engines import EngineConfig
from asrbatch.errors import ConfigError
from asrbatch.languages import parse_language
from asrbatch.pipeline import RunConfig
from asrbatch.plan import BatchBudget
from asrbatch.scan import DEFAULT_EXTENSIONS, ScanOptions, parse_extensions

if TYPE_CHECKING:
    from collections.abc import Sequence


class Options(TypedDict, total=False):
    """Options of `transcribe`; what is left out or None takes the default.

    `asrbatch transcribe --help` says what each of them means.
    """

    out: str | Path | None
    manifest: Sequence[str | Path] | None
    include: Sequence[str] | None
    exclude: Sequence[str] | None
    ext: str | None
    recursive: bool | None
    engine: str | None
    model: str | None
    dtype: str | None
    language: str | None
    context: str | None
    context_file: str | Path | None
    hotwords: str | Sequence[str] | None
    channels: str | int | None
    chunk_seconds: float | None
    session_by_folder: bool | None
    vad: bool | None
    vad_threshold: float | None
    min_silence: float | None
    max_retries: int | None
    timestamps: str | None
    aligner: str | None
    batch_seconds: float | None
    batch_count: int | None
    padding_ratio: float | None
    workers: int | None
    raw_format: str | None
    overwrite: bool | None
    cache: bool | None
    feature_cache: str | Path | None
    feature_cache_gb: float | None
    feature_memory_gb: float | None
    fail_fast: bool | None
    batch_size: int | None
    cpu_threads: int | None
    short_windows: bool | None
    max_num_seqs: int | None
    max_model_len: int | None
    max_new_tokens: int | None
    gpu_memory_utilization: float | None
    tensor_parallel_size: int | None
    enforce_eager: bool | None
    vllm: Mapping[str, Any] | None
    tokens_per_s: float | None


_ENGINE_OPTIONS = (
    "engine",
    "model",
    "dtype",
    "batch_size",
    "cpu_threads",
    "short_windows",
    "max_num_seqs",
    "max_model_len",
    "max_new_tokens",
    "gpu_memory_utilization",
    "tensor_parallel_size",
    "enforce_eager",
    "vllm",
    "tokens_per_s",
    "aligner",
)
_RUN_OPTIONS = (
    "chunk_seconds",
    "session_by_folder",
    "vad",
    "vad_threshold",
    "min_silence",
    "max_retries",
    "timestamps",
    "workers",
    "overwrite",
    "cache",
    "feature_cache_gb",
    "feature_memory_gb",
    "fail_fast",
)
_BUDGET_OPTIONS = {
    "batch_seconds": "max_audio_s",
    "batch_count": "max_count",
    "padding_ratio": "max_padding_ratio",
}


def build_config(inputs: str | Path | Sequence[str | Path], options: Options) -> RunConfig:
    """Make a run's configuration of options.

    Raises:
        ConfigError: An option has a value that cannot be; the message says which and what to do.
    """
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    given.setdefault("cache", os.environ.get("ASRBATCH_CACHE", "1") not in ("0", "false", "no"))
    if given.get("out") == "-":
        msg = "out: - is standard output to the command line only; give a file, or leave it out"
        raise ConfigError(msg)
    unknown = given.keys() - Options.__annotations__.keys()
    if unknown:
        names = ", ".join(sorted(unknown))
        msg = f"options: {names} is not known; asrbatch.Options has the names"
        raise ConfigError(msg)
    if not isinstance(given.get("vllm", {}), Mapping):
        msg = f"vllm: {given['vllm']!r} is no table of settings; give names and values"
        raise ConfigError(msg)
    own = given.get("vllm", {}).keys() & Options.__annotations__.keys()
    if own:
        msg = f"vllm: {', '.join(sorted(own))} is an option of its own; give it as such"
        raise ConfigError(msg)
    for name in ("include", "exclude", "manifest"):
        if isinstance(given.get(name), str | Path):
            given[name] = [given[name]]
    scan = {name: tuple(given[name]) for name in ("include", "exclude") if name in given}
    return RunConfig(
        inputs=(inputs,) if isinstance(inputs, str | Path) else tuple(inputs),
        out=Path(given["out"]) if "out" in given else None,
        scan=ScanOptions(
            extensions=parse_extensions(given["ext"]) if "ext" in given else DEFAULT_EXTENSIONS,
            manifests=tuple(Path(path) for path in given.get("manifest", ())),
            recursive=given.get("recursive", True),
            **scan,
        ),
        budget=BatchBudget(
            **{field: given[n] for n, field in _BUDGET_OPTIONS.items() if n in given}
        ),
        engine=EngineConfig(
            word_times=given.get("timestamps") == "word",
            **{name: given[name] for name in _ENGINE_OPTIONS if name in given},
        ),
        channels=_channels(given.get("channels", "mix")),
        context=_context(given),
        language=parse_language(given["language"]) if "language" in given else None,
        feature_cache=Path(given["feature_cache"]) if "feature_cache" in given else None,
        raw_format=parse_raw_format(given["raw_format"]) if "raw_format" in given else None,
        **{name: given[name] for name in _RUN_OPTIONS if name in given},
    )


def _channels(value: object) -> str | int:
    """Raises ConfigError unless it is `mix`, `split` or a number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value in ("mix", "split"):
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    msg = f"channels: {value!r} is not known; give mix, split, or a number from 0"
    raise ConfigError(msg)


def _context(given: Mapping[str, Any]) -> str | None:
    """What is to be expected in recordings that do not say it themselves."""
    texts = [given["context"]] if "context" in given else []
    if "context_file" in given:
        texts.append(read_context(Path(given["context_file"])).strip())
    hotwords = given.get("hotwords", ())
    words = split_hotwords(hotwords) if isinstance(hotwords, str) else hotwords
    return join_context("\n".join(texts), words)
