"""Judges hypotheses: what text shows of itself that it cannot be trusted.

| verdict | the hypothesis |
|---|---|
| `length` | was stopped by its token budget, so that its end may be missing |
| `loop` | says the same thing over and over |
| `rate` | has more text than can be spoken in the time |
| `empty_on_speech` | is empty, and the segment holds speech |
| `text_on_silence` | is a text, and the segment holds no speech |
| `context_echo` | is the context and not the recording |
| `language_outlier` | is in another language than its recording |

Nothing is rewritten: whoever reads the results decides.
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING

from asrbatch.data import SAMPLE_RATE
from asrbatch.languages import UNSPACED_LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from asrbatch.data import Hypothesis, Segment

MAX_PERIOD = 16
"""Words, or characters where there are no spaces, of the longest phrase looked for again."""

MIN_REPEATS = 5
"""Emphasis, counting aloud and refrains stay below: `no, no, no, no`."""

MIN_REPEATED_CHARACTERS = 24
"""In all repeats together: laughter and stammering are shorter."""

COMPRESSION_RATIO = 4.0
"""Bytes of a text over those of its zlib archive. Whisper distrusts 2.4 and more (openai/whisper,
`transcribe.py`), which lists of numbers and commands reach honestly: up to 2.8 in 30 s."""

MIN_COMPRESSED_BYTES = 120
"""Shorter texts say nothing about it."""

MAX_CHARACTERS_PER_S, MAX_UNSPACED_CHARACTERS_PER_S = 35.0, 14.0
"""The fastest speakers reach about 25 letters or 10 Chinese characters (8 syllables) a second."""

MIN_RATED_S = 1.0
"""Below, a word at the edge makes any rate."""

MIN_UNANSWERED_S = 1.0
"""Less speech than this may be a cough, or a voice in the next room."""

MIN_ECHOED_WORDS = 4
"""Fewer are names that were given because they would be said."""

_WORD = re.compile(r"\w+")
_REPEATED = re.compile(rf"(.{{1,{MAX_PERIOD}}}?)\1{{{MIN_REPEATS - 1},}}", re.DOTALL)


def judge(
    segment: Segment, hypothesis: Hypothesis, expected_language: str | None = None
) -> tuple[str, ...]:
    """What speaks against a hypothesis; nothing where it seems well.

    Args:
        segment: What was to be heard, with the context that the model was given.
        hypothesis: The answer.
        expected_language: The only one that is believed; None believes any.
    """
    text, language, spoken = hypothesis.text, hypothesis.language, segment.speech_samples
    has_words = _WORD.search(text) is not None  # a full stop alone says nothing
    verdicts = {
        "length": hypothesis.finish_reason == "length",
        "loop": is_loop(text, language),
        "rate": is_too_fast(text, language, segment.duration_s),
        "empty_on_speech": not has_words and (spoken or 0) >= MIN_UNANSWERED_S * SAMPLE_RATE,
        "text_on_silence": has_words and spoken == 0,
        "context_echo": is_echo(text, segment.context),
        "language_outlier": None not in (language, expected_language)
        and language != expected_language,
    }
    return tuple(name for name, holds in verdicts.items() if holds)


def is_loop(text: str, language: str | None) -> bool:
    """Whether a phrase follows itself many times, or the text is far too easy to compress."""
    data = text.encode()
    if len(data) >= MIN_COMPRESSED_BYTES and len(data) > COMPRESSION_RATIO * len(
        zlib.compress(data)
    ):
        return True
    if language in UNSPACED_LANGUAGES:
        return _has_repeats(text)
    words = _WORD.findall(text.casefold())
    return _has_repeats(words) or any(
        _has_repeats(word) for word in words if len(word) >= MIN_REPEATED_CHARACTERS
    )


def _has_repeats(pieces: Sequence[str]) -> bool:
    """Whether a phrase of words or characters stands often enough in a row."""
    # Each different word becomes a character, so that one expression finds phrases of either.
    codes = {piece: chr(code) for code, piece in enumerate(dict.fromkeys(pieces))}
    coded = "".join(map(codes.__getitem__, pieces))
    return any(
        sum(map(len, pieces[match.start() : match.end()])) >= MIN_REPEATED_CHARACTERS
        for match in _REPEATED.finditer(coded)
    )


def is_too_fast(text: str, language: str | None, duration_s: float) -> bool:
    """Whether nobody could say so much in the time."""
    most = MAX_UNSPACED_CHARACTERS_PER_S if language in UNSPACED_LANGUAGES else MAX_CHARACTERS_PER_S
    num_characters = sum(map(len, _WORD.findall(text)))
    return num_characters > most * max(duration_s, MIN_RATED_S)


def is_echo(text: str, context: str | None) -> bool:
    """Whether all words of a text stand in the context in this order, one after the other."""
    said = _WORD.findall(text.casefold())
    told = _WORD.findall((context or "").casefold())
    # One ideograph after the other is one word to a regular expression.
    num_words = sum(len(word) if not word.isascii() else 1 for word in said)
    return num_words >= MIN_ECHOED_WORDS and f" {' '.join(said)} " in f" {' '.join(told)} "
