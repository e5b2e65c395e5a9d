"""Put the hypotheses of a recording together, in whatever order they came."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from asrbatch.data import SAMPLE_RATE, TranscriptSegment, TranscriptWord
from asrbatch.languages import UNSPACED_LANGUAGES, is_unspaced

if TYPE_CHECKING:
    from collections.abc import Iterable

    from asrbatch.data import Hypothesis, Segment, Word


def stitch_segment(
    segment: Segment, hypothesis: Hypothesis, flags: tuple[str, ...]
) -> TranscriptSegment:
    """Join a segment with its hypothesis.

    Args:
        segment: A span of a recording.
        hypothesis: What was heard in it.
        flags: What speaks against that.
    """
    return TranscriptSegment(
        start_s=round(segment.start_sample / SAMPLE_RATE, 6),
        end_s=round((segment.start_sample + segment.num_samples) / SAMPLE_RATE, 6),
        text=hypothesis.text.strip(),
        language=hypothesis.language,
        cut=segment.cut,
        flags=flags,
        channel=segment.channel,
        words=None if hypothesis.words is None else tuple(map(_to_seconds, hypothesis.words)),
    )


def _to_seconds(word: Word) -> TranscriptWord:
    return TranscriptWord(
        word.text,
        round(word.start_sample / SAMPLE_RATE, 6),
        round(word.end_sample / SAMPLE_RATE, 6),
    )


def join_texts(segments: Iterable[TranscriptSegment]) -> str:
    """Join the texts with one space, and with none between Chinese, Japanese or Thai."""
    text, language = "", None
    for segment in segments:
        if not segment.text:
            continue
        if text:
            text += _separator(text, language, segment.text, segment.language)
        text, language = text + segment.text, segment.language
    return text


def _separator(left: str, left_language: str | None, right: str, right_language: str | None) -> str:
    unspaced = [is_unspaced(left[-1]), is_unspaced(right[0])]
    if {left_language, right_language} <= UNSPACED_LANGUAGES:
        # Only two Latin words or numbers that meet at the seam would be glued together.
        return "" if any(unspaced) else " "
    return "" if all(unspaced) else " "


def main_language(segments: Iterable[TranscriptSegment]) -> str | None:
    """Language of most seconds; None where no segment has one."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for segment in segments:
        if segment.language is not None:
            seconds[segment.language] += segment.end_s - segment.start_s
    return max(seconds, key=lambda language: seconds[language]) if seconds else None
