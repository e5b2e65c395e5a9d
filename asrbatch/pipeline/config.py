"""Everything a run can be told."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from asrbatch.cut import MIN_CHUNK_SECONDS
from asrbatch.data import SAMPLE_RATE, SpeechParams
from asrbatch.engines import EngineConfig
from asrbatch.errors import ConfigError
from asrbatch.languages import LANGUAGE_NAMES
from asrbatch.plan import BatchBudget
from asrbatch.scan import ScanOptions

if TYPE_CHECKING:
    from pathlib import Path

    from asrbatch.data import RawFormat, Recording, Source
    from asrbatch.engines import ModelSpec

MAX_CHANNEL = 65_534
"""No format counts more."""

TIMESTAMPS = ("none", "segment", "word")

MIN_SILENCE_SECONDS = 0.5
"""Twice what is kept on each side, and a little."""

MAX_SILENCE_SECONDS = 600.0
"""So much may have to be held until it is known whether it is left out."""

MAX_RETRIES = 10
"""There are four ways to hear a segment again."""

SPEED_SETTINGS = frozenset(
    {
        "max_num_batched_tokens", "async_scheduling", "performance_mode", "swap_space", "block_size",
        "disable_log_stats", "distributed_executor_backend", "max_parallel_loading_workers",
        "skip_mm_profiling", "num_gpu_blocks_override", "download_dir", "kv_cache_memory_bytes",
    }
)  # fmt: skip
"""Of vLLM, that cannot change a text more than another batch does."""


@dataclass(frozen=True, slots=True)
class RunConfig:
    """What to transcribe, how, and where to."""

    inputs: tuple[str | Path, ...]
    out: Path | None = None
    """`results.jsonl`; None keeps nothing."""
    scan: ScanOptions = field(default_factory=ScanOptions)
    budget: BatchBudget = field(default_factory=BatchBudget)
    engine: EngineConfig = field(default_factory=EngineConfig)
    chunk_seconds: float = 30.0
    language: str | None = None
    """Code to force where a manifest names none; None lets the model decide."""
    context: str | None = None
    raw_format: RawFormat | None = None
    channels: str | int = "mix"
    """`mix` hears the mean of all channels, `split` each of them apart, a number that one; where a
    manifest names one, it is that one."""
    session_by_folder: bool = False
    """The recordings of a folder are one session, where a manifest does not say another."""
    vad: bool = True
    """Look for speech, and leave out long stretches without any."""
    vad_threshold: float = 0.5
    min_silence: float = 2.0
    """Seconds."""
    workers: int | None = None
    """Processes that decode; None is as many as there are cores to spare, and follows the run."""
    cache: bool = True
    """Keep results for other runs, and look there for what is known."""
    feature_cache: Path | None = None
    """Folder for features, for other runs over the same audio."""
    feature_cache_gb: float = 20.0
    """Most bytes of it, in 10^9."""
    feature_memory_gb: float = 0.5
    """Most bytes of features kept in memory besides; 0 keeps none."""
    timestamps: str = "segment"
    """`none`, `segment` or `word`: how finely the results say when something was said."""
    max_retries: int = 2
    """How often a doubtful segment may be heard again."""
    overwrite: bool = False
    fail_fast: bool = False

    def __post_init__(self) -> None:
        if not MIN_CHUNK_SECONDS <= self.chunk_seconds <= 1200:
            msg = (
                f"chunk seconds: {self.chunk_seconds:g} is out of range; "
                f"give {MIN_CHUNK_SECONDS:g} to 1200"
            )
            raise ConfigError(msg)
        self.budget.require_room_for(self.chunk_samples)
        if self.workers is not None and self.workers < 1:
            msg = f"workers: {self.workers} is too few; give at least 1"
            raise ConfigError(msg)
        for name, at_least in (("feature_cache_gb", 0.001), ("feature_memory_gb", 0.0)):
            if not at_least <= getattr(self, name) < math.inf:
                msg = f"{name.replace('_', ' ')}: {getattr(self, name):g} is out of range; give at least {at_least:g}"
                raise ConfigError(msg)
        if isinstance(self.channels, int) and not 0 <= self.channels <= MAX_CHANNEL:
            msg = f"channels: there is no channel {self.channels}; give 0 to {MAX_CHANNEL}"
            raise ConfigError(msg)
        if self.timestamps not in TIMESTAMPS:
            msg = f"timestamps: {self.timestamps!r} is not known; choose {', '.join(TIMESTAMPS)}"
            raise ConfigError(msg)
        if not 0 <= self.max_retries <= MAX_RETRIES:
            msg = f"max retries: {self.max_retries} is out of range; give 0 to {MAX_RETRIES}"
            raise ConfigError(msg)
        if not 0 < self.vad_threshold < 1:
            msg = (
                f"vad threshold: {self.vad_threshold:g} is no probability; give one between 0 and 1"
            )
            raise ConfigError(msg)
        if not MIN_SILENCE_SECONDS <= self.min_silence <= MAX_SILENCE_SECONDS:
            msg = (
                f"min silence: {self.min_silence:g} is out of range; "
                f"give {MIN_SILENCE_SECONDS:g} to {MAX_SILENCE_SECONDS:g}"
            )
            raise ConfigError(msg)
        if self.feature_cache is not None and self.feature_cache.is_file():
            msg = f"feature cache: {self.feature_cache} is a file; name a folder"
            raise ConfigError(msg)
        if self.language is not None and self.language not in LANGUAGE_NAMES:
            msg = f"language: {self.language!r} is no language code; give one such as en, or None"
            raise ConfigError(msg)
        if self.out is not None:
            _check_out(self.out)

    @property
    def chunk_samples(self) -> int:
        """The chunk limit in samples."""
        return round(self.chunk_seconds * SAMPLE_RATE)

    @property
    def speech(self) -> SpeechParams | None:
        """What is left out; None where nothing is."""
        if not self.vad:
            return None
        return SpeechParams(self.vad_threshold, round(self.min_silence * SAMPLE_RATE))

    def channels_of(self, recording: Recording) -> tuple[int | None, ...]:
        """Channels of a recording to be heard apart; None is the mean of all."""
        if self._is_split(recording.source) and recording.info.channels > 1:
            return tuple(range(recording.info.channels))
        return (recording.source.channel,)

    def _is_split(self, source: Source) -> bool:
        return self.channels == "split" and source.channel is None

    @property
    def max_feature_bytes(self) -> int:
        """Most bytes of the feature cache."""
        return round(self.feature_cache_gb * 10**9)

    def text_options(self, spec: ModelSpec, source: Source) -> dict[str, Any]:
        """Everything that can change the text of a source; the rest is speed."""
        raw, aligner = self.raw_format, spec.aligner
        vllm = {k: str(v) for k, v in self.engine.vllm.items() if k not in SPEED_SETTINGS}
        return {
            "engine": spec.engine,
            "model": spec.name,
            "revision": spec.revision,
            "dtype": self.engine.dtype,
            "max_new_tokens": self.engine.max_new_tokens,
            "short_windows": self.engine.short_windows,
            "chunk_samples": self.chunk_samples,
            "max_retries": self.max_retries,
            "timestamps": self.timestamps,
            "aligner": f"{aligner.name}@{aligner.revision}" if aligner else "",
            "is_split": self._is_split(source),
            "speech": asdict(self.speech) if self.speech else None,
            "language": source.language or self.language,
            "context": source.context or self.context,
            "raw_format": [raw.encoding, raw.sample_rate, raw.channels] if raw else None,
        } | ({"vllm": vllm} if vllm and spec.engine == "vllm" else {})


def _check_out(out: Path) -> None:
    """Raise ConfigError unless results can be written to `out`."""
    if not out.parent.is_dir():
        msg = f"out: there is no folder {out.parent}; make it first"
        raise ConfigError(msg)
    if out.is_dir():
        msg = f"out: {out} is a folder; name a file in it, such as {out}/results.jsonl"
        raise ConfigError(msg)
    if out.exists() and not out.is_file():
        msg = f"out: {out} is no regular file; name one, or - for standard output"
        raise ConfigError(msg)
