"""Results read again, by what is done with them afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from asrbatch.errors import ConfigError
from asrbatch.jsonl import read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Row: TypeAlias = dict[str, Any]
"""One line of `results.jsonl`, or one of its segments or words: the fields of
`asrbatch.data.Transcript` and `TranscriptSegment` as plain values."""

_NUMBER = (int, float)
_OPTIONAL_TEXT = (str, type(None))

_FIELDS = {
    "id": str,
    "path": str,
    "channel": (int, type(None)),
    "offset_s": _NUMBER,
    "duration_s": _NUMBER,
    "language": _OPTIONAL_TEXT,
    "text": str,
    "segments": list,
}
_OPTIONAL_NUMBER = (int, type(None))
_SEGMENT_FIELDS = {"start_s": _NUMBER, "end_s": _NUMBER, "text": str, "language": _OPTIONAL_TEXT}
_WORD_FIELDS = {"start_s": _NUMBER, "end_s": _NUMBER, "word": str}


def read_results(path: Path) -> Iterator[Row]:
    """Lines of a results file.

    Raises:
        ConfigError: There is no such file, or a line is no result; the message says which and why.
    """
    if not path.is_file():
        msg = f"results: there is no file {path}; give what transcribe --out wrote"
        raise ConfigError(msg)
    for number, row in enumerate(read_rows(path), 1):
        wrong = _first_wrong(row)
        if wrong is not None:
            msg = (
                f"results: line {number} of {path} is no result, {wrong}; give what "
                "transcribe --out wrote"
            )
            raise ConfigError(msg)
        yield row


def _first_wrong(row: Row) -> str | None:
    """What is wrong with a line; None where it is well."""
    if (wrong := _wrong_field(row, _FIELDS)) is not None:
        return wrong
    for segment in row["segments"]:
        if (wrong := _wrong_field(segment, _SEGMENT_FIELDS)) is not None:
            return f"in a segment {wrong}"
        if not isinstance(segment.get("channel"), _OPTIONAL_NUMBER):
            return f"in a segment channel is {segment['channel']!r}"
        words = segment.get("words")
        if words is not None and not isinstance(words, list):
            return f"in a segment words is {words!r}"
        for word in words or ():
            if (wrong := _wrong_field(word, _WORD_FIELDS)) is not None:
                return f"in a word {wrong}"
    return None


def _wrong_field(row: object, fields: dict[str, Any]) -> str | None:
    if not isinstance(row, dict):
        return f"there is {row!r}"
    for name, kinds in fields.items():
        if not isinstance(row.get(name, ...), kinds):
            return f"{name} is {row[name]!r}" if name in row else f"{name} is missing"
    return None
