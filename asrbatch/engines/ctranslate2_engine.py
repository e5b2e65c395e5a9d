"""Whisper in CTranslate2, through faster-whisper's model: the embedded default without a GPU.

Segments of many files go together into one `generate` call, with timestamps, so that Whisper says
how far it came in each of them; what is left of a segment goes into the next call. Several such
batches are at work at once, each on threads of its own: that keeps the cores busier than one batch
on all of them (BENCHMARKS.md).
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from asrbatch.data import SAMPLE_RATE, Hypothesis, MelParams
from asrbatch.engines.base import token_budget
from asrbatch.engines.whisper_model import load_whisper
from asrbatch.engines.whisper_window import (
    HEARD_OUT_SAMPLES,
    Heard,
    Window,
    hear_out,
    must_go_on,
    parse_window,
)
from asrbatch.engines.whisper_words import find_words, words_in
from asrbatch.errors import EngineError
from asrbatch.mel import log_mel
from asrbatch.words import place_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from asrbatch.data import Segment, Waveform
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

CHOICE = 4
"""Batches to choose from for each one at work."""

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


class CTranslate2Engine:
    """Whisper on the CPU, or on a GPU that CTranslate2 sees."""

    def __init__(self, spec: ModelSpec, config: EngineConfig) -> None:
        """Load the model.

        Raises:
            EngineError: The model cannot be loaded, or is not the one that was shipped.
        """
        self._whisper, num_batches = load_whisper(spec, config)
        self._batch_size = config.batch_size
        self._max_new_tokens = config.max_new_tokens
        self._word_times = config.word_times
        self._num_batches = num_batches
        # Shown to do no harm to the packaged model only.
        short = config.short_windows
        self._short_windows = spec.packaged if short is None else short
        self._mel = MelParams(self._whisper.feature_extractor.mel_filters.shape[0])
        self._threads = ThreadPoolExecutor(num_batches, "ctranslate2")
        self._waiting: deque[Window] = deque()
        self._running: dict[Future[None], list[Window]] = {}

    @property
    def concurrency(self) -> int:
        """A batch for each of those at work at once."""
        return self._num_batches * self._batch_size

    @property
    def capacity(self) -> int:
        """Several times as many, so that the next batches can be of like length."""
        return CHOICE * self.concurrency

    @property
    def outstanding(self) -> int:
        """Segments submitted and not yet answered."""
        return len(self._waiting) + sum(map(len, self._running.values()))

    shares_cores = False
    """Each batch is on one core as a rule, and no thread waits for that of another."""

    max_segment_samples = MAX_SEGMENT_SAMPLES

    @property
    def languages(self) -> frozenset[str] | None:
        """English alone for the models whose name ends in .en."""
        return frozenset(self._whisper.supported_languages)

    def submit(self, segment: Segment, audio: Waveform) -> None:
        """Queue a segment for the next batch."""
        self._waiting.append(Window(segment, audio, time.perf_counter()))

    def step(self) -> list[Hypothesis]:
        """Keep the threads busy until a batch is done."""
        self._start_batches()
        answered: list[Window] = []
        for future in wait(self._running, return_when=FIRST_COMPLETED).done:
            batch = self._running.pop(future)
            try:
                future.result()
            except RuntimeError as error:
                msg = f"CTranslate2 stopped: {error}"
                raise EngineError(msg) from error
            answered += (window for window in batch if window.finish_reason)
            # What is not at its end goes on first, so that its recording is not kept waiting.
            self._waiting.extendleft(w for w in reversed(batch) if not w.finish_reason)
        self._start_batches()
        return [self._hypothesis(window) for window in answered]

    def close(self) -> None:
        """Free the model's memory; the batches at work are waited for."""
        self._threads.shutdown(cancel_futures=True)
        self._whisper.model.unload_model()

    def _start_batches(self) -> None:
        """Share what waits among the idle threads."""
        for num_idle in range(self._num_batches - len(self._running), 0, -1):
            count = min(self._batch_size, -(-len(self._waiting) // num_idle))
            if not count:
                return
            batch = self._next_batch(count)
            self._running[self._threads.submit(self._work, batch)] = batch

    def _next_batch(self, count: int) -> list[Window]:
        """The window that has waited longest, and those that are most like it in length.

        A batch takes as long as the longest text in it.
        """
        first = self._waiting[0]
        num_frames = self._num_frames(first)

        def distance(window: Window) -> tuple[bool, int]:
            return self._num_frames(window) != num_frames, abs(window.rest - first.rest)

        nearest = sorted(self._waiting, key=distance)[:count]
        chosen = set(map(id, nearest))
        self._waiting = deque(window for window in self._waiting if id(window) not in chosen)
        return nearest

    def _work(self, batch: list[Window]) -> None:
        """Take each window of a batch one step further."""
        # CTranslate2 wants prompts of one length in a batch; only contexts make them differ.
        groups: defaultdict[tuple[str | None, int, bool], list[Window]] = defaultdict(list)
        for window in batch:
            segment = window.segment
            kind = (segment.context, self._num_frames(window), segment.temperature > 0)
            groups[kind].append(window)
        for group in groups.values():
            self._transcribe(group)

    def _num_frames(self, window: Window) -> int:
        """How far the encoder listens: a matter of this window alone, whatever is beside it."""
        if not self._short_windows:
            return MAX_FRAMES
        steps = -(-(window.rest + QUIET_SAMPLES) // WINDOW_STEP_SAMPLES)
        return min(MAX_FRAMES, steps * WINDOW_STEP_SAMPLES // self._mel.hop_samples)

    def _transcribe(self, group: list[Window]) -> None:
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
            self._advance(window, answer)

    def _find_words(self, group: list[Window], encoded: Any, heard: list[Heard]) -> None:
        """Find the words of each window where they are wanted, or needed to know how far it came.

        Those of one language at once.
        """
        places: defaultdict[str | None, list[int]] = defaultdict(list)
        for place, (window, answer) in enumerate(zip(group, heard, strict=True)):
            if answer.tokens and (self._word_times or window.rest >= HEARD_OUT_SAMPLES):
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

    def _advance(self, window: Window, heard: Heard) -> None:
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

    def _hypothesis(self, window: Window) -> Hypothesis:
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
        shape = (len(group), self._mel.num_mels, self._num_frames(group[0]))
        features = np.empty(shape, np.float32)
        for window, out in zip(group, features, strict=True):
            log_mel(window.waveform[window.start_sample :], self._mel, out)
        return features

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
