"""What Whisper makes of a batch of windows, through CTranslate2 and faster-whisper's model."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from asrbatch.data import SAMPLE_RATE, Hypothesis, MelParams
from asrbatch.engines.base import token_budget
from asrbatch.engines.whisper_window import (
    HEARD_OUT_SAMPLES,
    SAMPLES_PER_TIMESTAMP,
    Heard,
    Window,
    hear_out,
    must_go_on,
    parse_window,
)
from asrbatch.engines.whisper_words import find_words, words_in
from asrbatch.mel import log_mel
from asrbatch.words import place_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from asrbatch.engines.base import EngineConfig, ModelSpec

MAX_SEGMENT_SAMPLES = 30 * SAMPLE_RATE
"""Whisper listens to 30 s and hears nothing after."""

MAX_FRAMES = 3000
"""Frames of 10 ms that it listens to."""

QUIET_SAMPLES = 10 * SAMPLE_RATE
WINDOW_STEP_SAMPLES = 5 * SAMPLE_RATE
"""A short window holds what is there, 10 s of silence after it, up to the next 5 s. The encoder is
half of the work, and takes three times as long for 30 s as for 15. With less silence Whisper errs:
29 % of the words are wrong with 2 s (BENCHMARKS.md)."""

MAX_LENGTH = 448
"""Tokens Whisper's decoder has positions for, the prompt included."""

BEAM_SIZE = 5
"""As openai/whisper and faster-whisper have it: a third slower than greedy, a fifth fewer errors
with tiny.en (BENCHMARKS.md)."""

DOUBT_SCORE = -0.5
"""Mean log-probability of a token under which an answer with timestamps is held against one
without. Where voices change and pauses are long, Whisper gives up with the first kind."""

REPETITION_PENALTY = 1.2
"""In place of a temperature: CTranslate2 draws from one generator for all that a thread does, so that
a text would depend on what else was heard. A penalty on what was said before has the same end, another
way out of a loop, and gives the same text each time."""

MAX_CONTEXT_TOKENS = 223
"""Half of the positions less the start token, as in openai/whisper `decoding.py`."""


class Hearing:
    """Whisper at work; safe to be used by several threads, each with windows of its own."""

    def __init__(self, whisper: Any, spec: ModelSpec, config: EngineConfig) -> None:
        """Wrap a model.

        Args:
            whisper: A `faster_whisper.WhisperModel`.
            spec: Which it is.
            config: Token budget, word times, and whether short windows are encoded as they are.
        """
        self._whisper = whisper
        self._max_new_tokens = config.max_new_tokens
        self._word_times = config.word_times
        # Shown to do no harm to the packaged model only.
        short = config.short_windows
        self._short_windows = spec.packaged if short is None else short
        self._mel = MelParams(whisper.feature_extractor.mel_filters.shape[0])

    def work(self, batch: list[Window]) -> None:
        """Take each window of a batch one step further."""
        # CTranslate2 wants prompts of one length in a batch; only contexts make them differ.
        groups: defaultdict[tuple[str | None, int, bool], list[Window]] = defaultdict(list)
        for window in batch:
            segment = window.segment
            kind = (segment.context, self.num_frames(window), segment.temperature > 0)
            groups[kind].append(window)
        for group in groups.values():
            self.advance(group)

    def advance(self, group: list[Window]) -> None:
        """Take each window one step further."""
        encoded = self._whisper.encode(self._features(group))
        self._detect_languages(group, encoded)
        heard = self._generate(group, encoded, without_timestamps=False)
        doubtful = [i for i, answer in enumerate(heard) if answer.score < DOUBT_SCORE]
        if doubtful:
            again = [group[i] for i in doubtful]
            answers = self._generate(again, self._pick(encoded, doubtful), without_timestamps=True)
            for i, answer in zip(doubtful, answers, strict=True):
                heard[i] = max(heard[i], answer, key=lambda heard: heard.score)
        self._find_words(group, encoded, heard)
        for window, answer in zip(group, heard, strict=True):
            self._note(window, answer)

    def _find_words(self, group: list[Window], encoded: Any, heard: list[Heard]) -> None:
        """Find the words of each window where they are wanted, or needed to know how far it came.

        Those of one language at once.
        """
        places: defaultdict[str | None, list[int]] = defaultdict(list)
        for place, (window, answer) in enumerate(zip(group, heard, strict=True)):
            is_wanted = self._word_times and window.rest >= SAMPLES_PER_TIMESTAMP
            if answer.tokens and (is_wanted or window.rest >= HEARD_OUT_SAMPLES):
                places[window.language].append(place)
        for language, chosen in places.items():
            windows = [group[place] for place in chosen]
            found = find_words(
                self._whisper,
                self._tokenizer(language),
                encoded if len(chosen) == len(group) else self._pick(encoded, chosen),
                [heard[place].tokens for place in chosen],
                [min(w.rest, MAX_SEGMENT_SAMPLES) // self._mel.hop_samples for w in windows],
            )
            for place, window, words in zip(chosen, windows, found, strict=True):
                offset_s = window.start_sample / SAMPLE_RATE
                window.words += [(text, a + offset_s, b + offset_s) for text, a, b in words]
                if words:
                    rest = window.waveform[window.start_sample :]
                    last_s = words[-1][2]
                    heard[place] = hear_out(heard[place], last_s, rest, window.waveform)

    def _generate(
        self, group: list[Window], encoded: Any, *, without_timestamps: bool
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
            repetition_penalty=REPETITION_PENALTY if group[0].segment.temperature else 1.0,
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

    def _note(self, window: Window, heard: Heard) -> None:
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

    def hypothesis(self, window: Window) -> Hypothesis:
        """What was heard in a window that is done."""
        text = self._tokenizer(window.language).decode(window.tokens).strip()
        words = None
        if self._word_times:
            words = place_words(window.segment, words_in(text, window.words))
        return Hypothesis(
            recording_id=window.segment.recording_id,
            index=window.segment.index,
            text=text,
            words=words,
            language=window.language,
            finish_reason=window.finish_reason,
            tokens=tuple(window.tokens),
            latency_s=time.perf_counter() - window.submitted,
        )

    def _features(self, group: list[Window]) -> NDArray[np.float32]:
        """Log-mel of shape (B, n_mels, T), padded with silence: T is 3000, or less if that does."""
        shape = (len(group), self._mel.num_mels, self.num_frames(group[0]))
        features = np.empty(shape, np.float32)
        for window, out in zip(group, features, strict=True):
            log_mel(window.waveform[window.start_sample :], self._mel, out)
        return features

    def num_frames(self, window: Window) -> int:
        """How far the encoder listens: a matter of this window alone, whatever is beside it."""
        if not self._short_windows:
            return MAX_FRAMES
        steps = -(-(window.rest + QUIET_SAMPLES) // WINDOW_STEP_SAMPLES)
        return min(MAX_FRAMES, steps * WINDOW_STEP_SAMPLES // self._mel.hop_samples)

    def _pick(self, encoded: Any, places: list[int]) -> Any:
        """Some of what was encoded; the encoder is half of the work."""
        import ctranslate2

        on_cpu = encoded.to_device(ctranslate2.Device.cpu)
        return ctranslate2.StorageView.from_array(np.asarray(on_cpu)[places])

    def _detect_languages(self, group: list[Window], encoded: Any) -> None:
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


def _context_tokens(tokenizer: Any, context: str | None) -> list[int]:
    """Tokens of the context; its last ones where it is too long, as openai/whisper does."""
    if not context:
        return []
    tokens: list[int] = tokenizer.encode(" " + context.strip())
    return tokens[-MAX_CONTEXT_TOKENS:]
