"""What an engine is: segments in, hypotheses out, in any order; it never sees a file."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from asrbatch.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from asrbatch.data import Features, Hypothesis, MelParams, Segment, Waveform

TOKENS_PER_SECOND = 12
"""Fast Chinese speech takes about 8 tokens a second; a loop would take them all."""

TOKENS_ALWAYS = 64
"""Room for the language tag and for very short segments."""

MAX_CPU_THREADS = 1024
"""More threads than any machine has cores; CTranslate2 crashes where the system gives it fewer."""

DTYPES = {
    "vllm": ("auto", "float32", "float16", "bfloat16"),
    "ctranslate2": (
        *("auto", "float32", "float16", "bfloat16", "int8", "int16"),
        *("int8_float32", "int8_float16", "int8_bfloat16"),
    ),
}
"""Kinds of numbers that each engine can compute with."""


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """How to run an engine. The names of vLLM's settings are vLLM's own."""

    engine: str = "auto"
    model: str | None = None
    """Directory, hub name or well-known name; None is the engine's default."""
    dtype: str = "auto"
    batch_size: int = 8
    """Segments in one ctranslate2 batch."""
    cpu_threads: int = 0
    """Threads of ctranslate2; 0 is one for each core."""
    short_windows: bool | None = None
    """Whether Whisper in ctranslate2 encodes short segments as they are, and not padded to 30 s;
    None is so for the packaged model alone."""
    max_num_seqs: int | None = None
    """Segments that vLLM works on at once; None is by the card."""
    max_model_len: int | None = None
    """Tokens of prompt and answer together; None is 4096, or what the model allows if less."""
    gpu_memory_utilization: float = 0.9
    tensor_parallel_size: int = 1
    enforce_eager: bool = False
    vllm: Mapping[str, Any] = field(default_factory=dict)
    """Any other setting of `vllm.EngineArgs`, by its name."""
    max_new_tokens: int | None = None
    """Ceiling for the token budget of a segment; None leaves it to the duration."""
    word_times: bool = False
    """Find when each word was said."""
    aligner: str | None = None
    """Directory or hub name of the model that finds the words of what vLLM heard; None is the
    published one."""
    tokens_per_s: float | None = None
    """Exactly so many tokens for a second of audio, whatever the model says: for measuring one
    with random weights."""

    def __post_init__(self) -> None:
        for name in ("batch_size", "tensor_parallel_size"):
            _require(name, getattr(self, name), at_least=1)
        for name in ("max_num_seqs", "max_model_len", "max_new_tokens"):
            if getattr(self, name) is not None:
                _require(name, getattr(self, name), at_least=1)
        if self.tokens_per_s is not None and not 0 < self.tokens_per_s < math.inf:
            msg = f"tokens per s: {self.tokens_per_s:g} is out of range; give more than 0"
            raise ConfigError(msg)
        _require("cpu_threads", self.cpu_threads, at_least=0)
        if self.cpu_threads > MAX_CPU_THREADS:
            msg = f"cpu threads: {self.cpu_threads} is too many; give at most {MAX_CPU_THREADS}"
            raise ConfigError(msg)
        if not 0 < self.gpu_memory_utilization <= 1:
            msg = (
                f"gpu memory utilization: {self.gpu_memory_utilization} is a share of the "
                "memory; give a number above 0 and up to 1, such as 0.9"
            )
            raise ConfigError(msg)


def check_dtype(engine: str, dtype: str) -> None:
    """Raise ConfigError if an engine does not know a kind of numbers."""
    if dtype not in DTYPES[engine]:
        msg = f"dtype: {dtype!r} is not known to {engine}; choose {', '.join(DTYPES[engine])}"
        raise ConfigError(msg)


def _require(name: str, value: int, *, at_least: int) -> None:
    if value < at_least:
        msg = f"{name.replace('_', ' ')}: {value} is too small; give at least {at_least}"
        raise ConfigError(msg)


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model that is there, before it is loaded."""

    engine: str
    name: str
    """As it stands in the results: the hub name, or the directory's own name."""
    path: Path | None
    """Directory; None for the engine that has no model."""
    revision: str
    """Changes whenever the weights or the configuration do."""
    note: str = ""
    """What the user should know about the choice."""
    packaged: bool = False
    """It came with a package whose weights have a known SHA-256."""
    languages: frozenset[str] | None = None
    """Codes it knows; None where only the loaded model can tell."""
    mel: MelParams | None = None
    """Features that the engine takes of this model; None where it takes the waveform."""

    aligner: ModelSpec | None = None
    """The model that finds words; None where none is needed."""

    def check_language(self, language: str) -> None:
        """Raise ConfigError if the model cannot be asked for this language code."""
        if self.languages is not None and language not in self.languages:
            known = "English only" if self.languages == {"en"} else f"{len(self.languages)} others"
            msg = f"language: {language} is not known to {self.name} ({known}); choose another --model"
            raise ConfigError(msg)


class Engine(Protocol):
    """Takes segments, gives hypotheses."""

    @property
    def concurrency(self) -> int:
        """Segments it works on at once; with fewer it is starved."""
        ...

    @property
    def capacity(self) -> int:
        """Segments it likes to hold at once: enough that the next batch never waits."""
        ...

    @property
    def shares_cores(self) -> bool:
        """Whether a step computes on all cores of this machine with threads in lock-step."""
        ...

    @property
    def outstanding(self) -> int:
        """Segments submitted and not yet answered."""
        ...

    @property
    def max_segment_samples(self) -> int | None:
        """Longest segment the model hears to its end; None where there is no such limit."""
        ...

    @property
    def languages(self) -> frozenset[str] | None:
        """Codes of the languages it can be asked for; None where it takes any."""
        ...

    def submit(self, segment: Segment, audio: Waveform | Features) -> None:
        """Hand over one segment.

        Args:
            segment: Which; its language and context are honoured.
            audio: Features where the model's `ModelSpec.mel` says so, else the waveform, float32,
                16 kHz mono, of `segment.num_samples`. It lies in shared memory: it is kept no
                longer than needed.

        Raises:
            SegmentError: The engine refuses this one and stays usable.
            EngineError: The engine is gone.
        """
        ...

    def step(self) -> list[Hypothesis]:
        """Work for a while; give what was finished, in any order, maybe nothing.

        Raises:
            EngineError: The engine is gone.
        """
        ...

    def close(self) -> None:
        """Free what it holds."""
        ...


def token_budget(segment: Segment, max_new_tokens: int | None) -> int:
    """Tokens that a segment may take: enough for the fastest speech, too few for a long loop."""
    budget = math.ceil(TOKENS_PER_SECOND * segment.duration_s) + TOKENS_ALWAYS
    return budget if max_new_tokens is None else min(budget, max_new_tokens)
