"""Times of words by Qwen3-ForcedAligner, through transformers' own class.

The model is Qwen3-ASR with a head that sorts each `<timestamp>` of its prompt into a step of
80 ms: two of them follow each word (QwenLM/Qwen3-ASR, `inference/qwen3_forced_aligner.py`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from asrbatch.data import SAMPLE_RATE, Word
from asrbatch.errors import EngineError
from asrbatch.languages import LANGUAGE_NAMES
from asrbatch.mel import model_input
from asrbatch.words import place_words, slices_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from asrbatch.data import Features, Hypothesis, Segment, Waveform
    from asrbatch.engines.base import ModelSpec

BATCH = 16
"""Segments that are aligned at once."""


class Item(NamedTuple):
    """What to align."""

    segment: Segment
    audio: Waveform | Features
    hypothesis: Hypothesis


class Aligner:
    """Finds words of a known text in the sound."""

    def __init__(self, spec: ModelSpec) -> None:
        """Load the model.

        Raises:
            EngineError: It cannot be loaded.
        """
        import torch
        from transformers import AutoProcessor, Qwen3ASRForTokenClassification, logging
        from transformers.models.qwen3_asr import processing_qwen3_asr

        logging.disable_progress_bar()
        self._mel = spec.mel
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        dtype = torch.bfloat16 if self._device == "cuda" else torch.float32
        try:
            self._processor: Any = AutoProcessor.from_pretrained(spec.path)
            model: Any = Qwen3ASRForTokenClassification.from_pretrained(spec.path, dtype=dtype)
            self._timestamp_token: int = model.config.timestamp_token_id
        except (OSError, ValueError, RuntimeError, AttributeError, json.JSONDecodeError) as error:
            reason = " ".join(str(error).split())
            msg = f"aligner: {spec.path} cannot be loaded: {reason}; name another with --aligner"
            raise EngineError(msg) from error
        self._model = model.to(self._device).eval()
        names = processing_qwen3_asr.FORCED_ALIGNER_LANGUAGES
        self._languages = {code for code, name in LANGUAGE_NAMES.items() if name in names}
        self._chunk_frames = 2 * model.config.audio_config.n_window
        step_s = self._processor.timestamp_segment_time / 1000
        self._max_samples = int((model.config.num_labels - 1) * step_s * SAMPLE_RATE)

    def knows(self, segment: Segment, hypothesis: Hypothesis) -> bool:
        """Whether it can find the words: there are some, in a language and a length it knows."""
        has_language = hypothesis.language is None or hypothesis.language in self._languages
        return bool(hypothesis.text) and has_language and segment.num_samples <= self._max_samples

    def align(self, items: Sequence[Item]) -> list[tuple[Word, ...]]:
        """Find the words of each item.

        Raises:
            EngineError: The device gives up.
        """
        bare = [self._split(item.hypothesis) for item in items]
        if not any(bare):
            return [()] * len(items)
        try:
            found = self._ask(items, bare)
        except RuntimeError as error:
            msg = f"aligner: it stopped: {error}"
            raise EngineError(msg) from error
        return [
            place_words(
                item.segment,
                [
                    (text, word["start_time"], word["end_time"])
                    for text, word in zip(slices_of(item.hypothesis.text, w), timed, strict=True)
                ],
            )
            for item, w, timed in zip(items, bare, found, strict=True)
        ]

    def _ask(self, items: Sequence[Item], bare: list[list[str]]) -> list[list[dict[str, Any]]]:
        import torch

        features, mask = self._features(items)
        num_tokens = self._processor._get_audio_token_length(
            torch.from_numpy(mask.sum(axis=1)), self._chunk_frames // 2
        )
        audio = self._processor.audio_token
        texts = [
            f"<|audio_start|>{audio * int(n)}<|audio_end|>"
            + "".join(f"{word}<timestamp><timestamp>" for word in words)
            for n, words in zip(num_tokens, bare, strict=True)
        ]
        tokens = self._processor.tokenizer(texts, return_tensors="pt", padding=True)
        inputs = {
            "input_ids": tokens["input_ids"],
            "attention_mask": tokens["attention_mask"],
            "input_features": torch.from_numpy(features).to(self._model.dtype),
            "input_features_mask": torch.from_numpy(mask),
        }
        with torch.inference_mode():
            logits = self._model(**{k: v.to(self._device) for k, v in inputs.items()}).logits
        found: list[list[dict[str, Any]]] = self._processor.decode_forced_alignment(
            logits.cpu(), tokens["input_ids"], bare, self._timestamp_token
        )
        return found

    def _features(self, items: Sequence[Item]) -> tuple[np.ndarray, np.ndarray]:
        """Log-mels of shape (B, num_mels, T) and a mask of (B, T); T is a multiple of a chunk."""
        mels = [self._mel_of(item.audio) for item in items]
        longest = max(mel.shape[1] for mel in mels)
        shape = (
            len(mels),
            mels[0].shape[0],
            -(-longest // self._chunk_frames) * self._chunk_frames,
        )
        features, mask = np.zeros(shape, np.float32), np.zeros((shape[0], shape[2]), np.int64)
        for mel, row, is_there in zip(mels, features, mask, strict=True):
            row[:, : mel.shape[1]] = mel
            is_there[: mel.shape[1]] = 1
        return features, mask

    def _mel_of(self, audio: Waveform | Features) -> Features:
        if audio.ndim == 2:
            return audio
        return model_input(audio, self._mel)

    def _split(self, hypothesis: Hypothesis) -> list[str]:
        """Words of a text, without punctuation; Chinese characters one by one."""
        language = LANGUAGE_NAMES.get(hypothesis.language or "")
        try:
            words: list[str] = self._processor.split_words_for_alignment(hypothesis.text, language)
        except ImportError:  # nagisa for Japanese, soynlp for Korean: spaces must do
            words = self._processor.split_words_for_alignment(hypothesis.text, None)
        return words
