"""Subtitles: texts short enough to be read while they are shown.

Lines, lengths and durations are those that broadcasters and streaming services ask for (BBC
Subtitle Guidelines; Netflix Timed Text Style Guide).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from asrbatch.export.tokens import Token, timed_tokens
from asrbatch.languages import UNSPACED_LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from asrbatch.results import Row

LINE_CHARS, UNSPACED_LINE_CHARS = 42, 16
MAX_LINES = 2
MAX_CUE_S = 7.0
MIN_CUE_S = 0.8
"""A shorter one stays on the screen for so long, unless the next begins."""

PAUSE_S = 0.6
"""Between words that are known to be so far apart a cue ends."""

SENTENCE_ENDS = (".", "?", "!", "…", "。", "？", "！")
CLAUSE_ENDS = (*SENTENCE_ENDS, ",", ";", ":", "，", "、", "；", "：", "–", "—")


class Cue(NamedTuple):
    """What is shown at a time."""

    start_s: float
    end_s: float
    lines: tuple[str, ...]
    channel: int | None = None


def cues_of(row: Row) -> list[Cue]:
    """Subtitles of a recording, in order of time; those of one channel do not overlap."""
    cues: list[Cue] = []
    for channel, segments in by_channel(row).items():
        cues += (cue._replace(channel=channel) for cue in _cues(segments, row["language"]))
    return sorted(cues, key=lambda cue: cue.start_s)


def by_channel(row: Row) -> dict[int | None, list[Row]]:
    """Segments of each channel that was heard apart; all under None where none was."""
    found: dict[int | None, list[Row]] = {}
    for segment in row["segments"]:
        found.setdefault(segment.get("channel"), []).append(segment)
    return found


def _cues(segments: Sequence[Row], main_language: str | None) -> list[Cue]:
    cues: list[Cue] = []
    for segment in segments:
        language = segment["language"] or main_language
        width = UNSPACED_LINE_CHARS if language in UNSPACED_LANGUAGES else LINE_CHARS
        has_times = bool(segment.get("words"))
        for tokens in _groups(timed_tokens(segment), width, has_times=has_times):
            text = "".join(token.text for token in tokens).strip()
            cues.append(Cue(tokens[0].start_s, tokens[-1].end_s, _lines(text, width)))
    return list(_long_enough(cues))


def _groups(tokens: Sequence[Token], width: int, *, has_times: bool) -> Iterator[Sequence[Token]]:
    """Split into groups that fit on the screen and end where a reader would pause."""
    first = 0
    while first < len(tokens):
        last = _fitting(tokens, first, width)
        end = _break(tokens, first, last, has_times=has_times)
        yield tokens[first:end]
        first = end


def _fitting(tokens: Sequence[Token], first: int, width: int) -> int:
    """End of the longest group that begins with `first` and fits."""
    text = ""
    for index in range(first, len(tokens)):
        text += tokens[index].text
        too_long = tokens[index].end_s - tokens[first].start_s > MAX_CUE_S
        if index > first and (too_long or len(_lines(text.strip(), width)) > MAX_LINES):
            return index
    return len(tokens)


def _break(tokens: Sequence[Token], first: int, last: int, *, has_times: bool) -> int:
    """Where in what fits to end: at a pause, after a sentence, after a clause, or not before."""
    for index in range(first + 1, last):
        gap_s = tokens[index].start_s - tokens[index - 1].end_s
        is_end = tokens[index - 1].text.rstrip().endswith(SENTENCE_ENDS)
        if (has_times and gap_s >= PAUSE_S) or is_end:
            return index
    if last == len(tokens):
        return last
    half = first + (last - first) // 2
    for index in range(last, half, -1):
        if tokens[index - 1].text.rstrip().endswith(CLAUSE_ENDS):
            return index
    return last


def _lines(text: str, width: int) -> tuple[str, ...]:
    """Break a text into lines, two of about the same length where two hold it."""
    if len(text) <= width:
        return (text,)
    places = [i for i, c in enumerate(text) if c == " "] or list(range(1, len(text)))
    fitting = [i for i in places if i <= width and len(text[i:].strip()) <= width]
    if fitting:
        middle = min(fitting, key=lambda i: abs(2 * i - len(text)))
        return text[:middle].strip(), text[middle:].strip()
    first = max((i for i in places if i <= width), default=places[0])
    if first >= len(text):
        return (text,)
    return text[:first].strip(), *_lines(text[first:].strip(), width)


def _long_enough(cues: Sequence[Cue]) -> Iterator[Cue]:
    for index, cue in enumerate(cues):
        end_s = max(cue.end_s, cue.start_s + MIN_CUE_S)
        if index + 1 < len(cues):
            end_s = max(cue.start_s, min(end_s, cues[index + 1].start_s))
        yield cue._replace(end_s=end_s)
