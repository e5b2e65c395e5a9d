"""Texts as they are compared: Whisper's normalisers, one for English and one for the rest."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from asrbatch.errors import ConfigError
from asrbatch.languages import UNSPACED_LANGUAGES, is_unspaced

if TYPE_CHECKING:
    from collections.abc import Callable

NORMALISERS = ("auto", "english", "basic", "none")
"""`auto` is `english` for English and `basic` for the rest; `none` compares texts as they stand."""


def check_normaliser(name: str) -> None:
    """Raise ConfigError if there is no such normaliser."""
    if name not in NORMALISERS:
        msg = f"normalizer: {name!r} is not known; choose {', '.join(NORMALISERS)}"
        raise ConfigError(msg)


def to_words(text: str, language: str | None, normaliser: str) -> list[str]:
    """Words to compare.

    Whisper's normalisers (Radford et al. 2022, appendix C): the English one also spells numbers,
    contractions and British words alike. What is written without spaces between words, Chinese
    among it, counts each character as a word.
    """
    chosen = normaliser
    if chosen == "auto":
        chosen = "english" if language == "en" else "basic"
    text = unicodedata.normalize("NFC", text) if chosen == "none" else _load(chosen)(text)
    return "".join(f" {c} " if is_unspaced(c) else c for c in text).split()


def to_characters(words: list[str], language: str | None) -> str:
    """Characters to compare: words with one space between, or none where none is written."""
    return ("" if language in UNSPACED_LANGUAGES else " ").join(words)


@lru_cache
def _load(name: str) -> Callable[[str], str]:
    if name == "english":
        from whisper_normalizer.english import EnglishTextNormalizer

        return EnglishTextNormalizer()  # type: ignore[no-any-return]
    from whisper_normalizer.basic import BasicTextNormalizer

    return BasicTextNormalizer()  # type: ignore[no-any-return]
