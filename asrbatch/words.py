"""Words with times: inside their segment, in order, and as they stand in the text."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from asrbatch.data import SAMPLE_RATE, Word

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from asrbatch.data import Segment


def place_words(segment: Segment, timed: Iterable[tuple[str, float, float]]) -> tuple[Word, ...]:
    """Put words on the clock of the file.

    Args:
        segment: Where they were heard.
        timed: Each word with its start and end, in seconds from the start of the segment.

    Returns:
        In the same order. No word begins before the one before it ends, and all lie inside the
        segment, whatever the model said.
    """
    words, earliest = [], 0
    for text, start_s, end_s in timed:
        start, end = (
            min(max(round(second * SAMPLE_RATE), earliest), segment.num_samples)
            for second in (start_s, end_s)
        )
        earliest = max(start, end)
        words.append(Word(text, segment.start_sample + start, segment.start_sample + earliest))
    return tuple(words)


def slices_of(text: str, bare_words: Sequence[str]) -> list[str]:
    """How words that were stripped of punctuation stand in the text.

    Args:
        text: For example `It's 3.5, ill-disposed!`.
        bare_words: Their letters and digits, such as `It's`, `35`, `illdisposed`.

    Returns:
        `It's`, `3.5`, `ill-disposed`; the bare words where they are not those of the text.
    """
    found, position = [], 0
    for word in bare_words:
        start, num_matched = -1, 0
        while num_matched < len(word) and position < len(text):
            if text[position] == word[num_matched]:
                start = position if start < 0 else start
                num_matched += 1
            elif is_spoken(text[position]):
                return list(bare_words)
            position += 1
        if num_matched < len(word):
            return list(bare_words)
        found.append(text[start:position])
    return found


def is_spoken(character: str) -> bool:
    """Whether a character is a letter, a digit or an apostrophe, and no punctuation."""
    return character == "'" or unicodedata.category(character)[0] in "LN"
