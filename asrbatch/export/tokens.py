"""The text of a segment in pieces that have a time each."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from asrbatch.languages import is_unspaced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asrbatch.results import Row

_WORD = re.compile(r"\S+\s*")


class Token(NamedTuple):
    """A word with the punctuation and the space after it, or a character of Chinese and the like."""

    text: str
    start_s: float
    end_s: float


def timed_tokens(segment: Row) -> list[Token]:
    """Pieces whose texts joined are the text of the segment.

    Args:
        segment: With `words` where their times are known; times of the rest are spread over the
            segment by characters.
    """
    text = " ".join(segment["text"].split())
    spans = _spans_of_words(text, segment.get("words") or ())
    if spans is None:
        return _spread(text, segment["start_s"], segment["end_s"])
    starts = [0, *(start for start, _, _ in spans[1:]), len(text)]
    return [
        Token(text[begin:end], word["start_s"], word["end_s"])
        for (begin, end), (_, _, word) in zip(pairwise(starts), spans, strict=True)
    ]


def _spans_of_words(text: str, words: tuple[Row, ...]) -> list[tuple[int, int, Row]] | None:
    """Where in the text each word stands; None where the words are not those of the text."""
    spans, position = [], 0
    for word in words:
        found = text.find(word["word"].strip(), position)
        if found < 0:
            return None
        position = found + len(word["word"].strip())
        spans.append((found, position, word))
    return spans or None


def _spread(text: str, start_s: float, end_s: float) -> list[Token]:
    if not text:
        return []
    second = (end_s - start_s) / len(text)
    tokens, position = [], 0
    for piece in _pieces(text):
        begin = start_s + position * second
        position += len(piece)
        tokens.append(Token(piece, begin, start_s + position * second))
    return tokens


def _pieces(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        piece = ""
        for character in match[0]:
            begins_anew = is_unspaced(character) and character.isalnum()
            if piece and (begins_anew or _is_whole(piece)) and character.isalnum():
                yield piece
                piece = ""
            piece += character
        yield piece


def _is_whole(piece: str) -> bool:
    return is_unspaced(piece[0]) and piece[0].isalnum()
