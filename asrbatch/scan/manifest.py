"""Manifests: lists of what to transcribe, told apart by their form.

| form | holds |
|---|---|
| `segments`, `*.scp` | Kaldi, see `asrbatch.scan.kaldi` |
| JSON objects, one a line or in an array | one recording or cut each, by the names that NeMo gives the fields; or Lhotse, see `asrbatch.scan.lhotse` |
| other text | a path a line; `#` begins a comment |

Any of them may be gzipped. Audio that does not exist is listed all the same: it becomes a failure
of its own.
"""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING, Any

from asrbatch.context import join_context
from asrbatch.data import Source
from asrbatch.errors import ConfigError
from asrbatch.scan import kaldi, lhotse
from asrbatch.scan.fields import (
    Place,
    Row,
    lines,
    locate,
    pick,
    pick_language,
    pick_text,
    pick_words,
    read_text,
    to_channel,
    to_length,
    to_samples,
)
from asrbatch.scan.files import file_mode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIST_SUFFIXES = frozenset({".txt", ".list", ".lst"})
JSON_SUFFIXES = frozenset({".json", ".jsonl"})

PATH_FIELDS = ("audio_filepath", "path", "audio")
LANGUAGE_FIELDS = ("language", "source_lang", "lang")

_RESULT_FIELDS = {"schema", "id", "segments"}
_FAILURE_FIELDS = {"stage", "error", "attempts"}


def is_manifest(path: Path) -> bool:
    """Whether a file is a manifest by its name."""
    name = _unpacked(path)
    suffixes = LIST_SUFFIXES | JSON_SUFFIXES | {".scp"}
    return name.name == "segments" or name.suffix.lower() in suffixes


def read_manifest(path: Path) -> list[Source]:
    """Read a manifest of any form.

    Args:
        path: The file, or a Kaldi data directory.

    Returns:
        What it lists, in its order; names are not yet unique.

    Raises:
        ConfigError: It cannot be read, lists nothing, or says what cannot be; the message names
            the line and the field.
    """
    if stat.S_ISDIR(file_mode(path) or 0):
        path = kaldi.main_table(path)
    sources = list(_read(path, read_text(path)))
    if not sources:
        msg = f"manifest: {path} lists nothing; give one with at least one entry"
        raise ConfigError(msg)
    return sources


def _read(path: Path, text: str) -> Iterator[Source]:
    name = _unpacked(path)
    suffix = name.suffix.lower()
    if name.name == "segments":
        return kaldi.read_segments(path, text)
    if suffix == ".scp":
        return kaldi.read_scp(path, text)
    first = text.lstrip()[:1]
    # A path may begin with a bracket; hardly one with a brace.
    if suffix in JSON_SUFFIXES or first == "{" or (first == "[" and suffix not in LIST_SUFFIXES):
        return (read_entry(row, place) for place, row in read_objects(path, text))
    return _read_list(path, text)


def _unpacked(path: Path) -> Path:
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def read_objects(path: Path, text: str) -> Iterator[tuple[Place, Row]]:
    """Objects of a JSON manifest, one a line or in an array, and where they stand.

    Raises:
        ConfigError: It is not JSON, or holds something else.
    """
    if text.lstrip().startswith("["):
        entries = _parse(text, Place(path, "all of it"))
        values = ((Place(path, f"entry {i}"), entry) for i, entry in enumerate(entries, 1))
    else:
        values = ((place, _parse(line, place)) for place, line in lines(path, text))
    for place, value in values:
        if not isinstance(value, dict):
            raise place.error('it is not a JSON object; give one such as {"path": "a.wav"}')
        yield place, value


def _parse(text: str, place: Place) -> Any:  # noqa: ANN401
    # Not orjson: it refuses names that are no UTF-8, which Python writes as lone surrogates.
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise place.error(f"it is not JSON ({error}); give one object a line") from error


def read_entry(row: Row, place: Place) -> Source:
    """One object of a manifest.

    Raises:
        ConfigError: It names no audio, or says what cannot be.
    """
    if row.keys() >= _RESULT_FIELDS or row.keys() >= _FAILURE_FIELDS:
        raise place.error("it is a result of asrbatch; give the audio or the manifest it came from")
    field, listed = pick(row, *PATH_FIELDS)
    if listed is None and lhotse.is_lhotse(row):
        return lhotse.read_row(row, place)
    if listed is None:
        raise place.error(f"it has none of {', '.join(PATH_FIELDS)}; give the path of a file")
    path, name = locate(listed, field, place)
    start_sample, num_samples = _span(row, place)
    _, channel = pick(row, "channel")
    return Source(
        location=path,
        name=name,
        start_sample=start_sample,
        num_samples=num_samples,
        channel=None if channel is None else to_channel(channel, "channel", place),
        language=pick_language(row, place, *LANGUAGE_FIELDS),
        context=join_context(pick_text(row, place, "context"), pick_words(row, place, "hotwords")),
        session=pick_text(row, place, "session"),
    )


def _span(row: Row, place: Place) -> tuple[int, int | None]:
    """Start and length that are meant, in samples.

    A duration without an offset is the length of the whole file: NeMo always writes it, and
    rounded, so it must not cut the end off.
    """
    _, offset = pick(row, "offset")
    _, duration = pick(row, "duration")
    if duration is not None and offset is None:
        to_samples(duration, "duration", place)
    if offset is None:
        return 0, None
    start_sample = to_samples(offset, "offset", place)
    return start_sample, None if duration is None else to_length(duration, "duration", place)


def _read_list(path: Path, text: str) -> Iterator[Source]:
    for place, line in lines(path, text):
        if not line.startswith("#"):
            yield Source(*locate(line, "path", place))
