"""Times of words by Whisper's own attention, through CTranslate2 and faster-whisper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

LAG_S = 0.1
"""Whisper's attention goes to a word when enough of it was heard, about 0.1 s after it begins: so
against an acoustic model's alignment of read speech (0.11 s) and against synthesised words with
pauses (0.05 s), whatever the filter, the padding or the start of the prompt (BENCHMARKS.md)."""

PREPENDED = "\"'“¿([{-"
APPENDED = "\"'.。,，!！?？:：”)]}、"
"""Punctuation that goes with the word after or before it (openai/whisper, `timing.py`)."""


def find_words(
    whisper: Any,
    tokenizer: Any,
    encoded: Any,
    texts: Sequence[list[int]],
    num_frames: Sequence[int],
) -> list[list[tuple[str, float, float]]]:
    """Find the words of some windows.

    Args:
        whisper: A `faster_whisper.WhisperModel`.
        tokenizer: Of the language of all of them.
        encoded: What the encoder made of them.
        texts: Tokens of each, without timestamps; none is empty.
        num_frames: Frames of 10 ms that hold sound, of each.

    Returns:
        Words of each with start and end in seconds from the start of the window, punctuation
        included.
    """
    from faster_whisper.transcribe import merge_punctuations

    found = []
    for words in whisper.find_alignment(tokenizer, list(texts), encoded, list(num_frames)):
        merge_punctuations(words, PREPENDED, APPENDED)
        found.append(
            [
                (word["word"].strip(), float(word["start"]) - LAG_S, float(word["end"]) - LAG_S)
                for word in words
                if word["word"].strip()
            ]
        )
    return found


def words_in(
    text: str, words: Sequence[tuple[str, float, float]]
) -> list[tuple[str, float, float]]:
    """Those words that stand in the text, which its budget may have cut off in the last one."""
    position = 0
    for index, (word, start_s, end_s) in enumerate(words):
        found = text.find(word, position)
        if found < 0:
            rest = text[position:].strip()
            last = [(rest, start_s, end_s)] if rest and word.startswith(rest) else []
            return [*words[:index], *last]
        position = found + len(word)
    return list(words)
