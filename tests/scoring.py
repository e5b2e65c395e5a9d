"""Word error rates as the field counts them."""

from __future__ import annotations

import jiwer
from whisper_normalizer.english import EnglishTextNormalizer

_normalize = EnglishTextNormalizer()


def word_error_rate(pairs: list[tuple[str, str]]) -> float:
    """Corpus WER of (reference, hypothesis) pairs after Whisper's English normaliser."""
    references, hypotheses = zip(*pairs, strict=True)
    return float(jiwer.wer([*map(_normalize, references)], [*map(_normalize, hypotheses)]))


def plain_error_rate(pairs: list[tuple[str, str]]) -> float:
    """Corpus WER as the texts stand, each Chinese character a word."""
    references, hypotheses = zip(*pairs, strict=True)
    return float(jiwer.wer([*map(_spaced, references)], [*map(_spaced, hypotheses)]))


def _spaced(text: str) -> str:
    return " ".join("".join(f" {c} " if c >= "\u3000" else c for c in text).split())
