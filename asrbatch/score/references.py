"""References: what was really said, by the name of the recording.

| form | holds |
|---|---|
| a folder | one `.txt` a recording, under the recording's name with `.txt` for its ending |
| JSON objects | a manifest whose entries have `text`, see `asrbatch.scan.manifest` |
| other text | a table with tabs; its first line names `file` (or `path`), `text`, and perhaps `channel` and `language`, `-` for none |
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

from asrbatch.errors import ConfigError
from asrbatch.identity import printable
from asrbatch.scan.fields import Place, pick_language, read_text
from asrbatch.scan.manifest import JSON_SUFFIXES, PATH_FIELDS, read_entry, read_objects

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE_FIELDS = ("file", *PATH_FIELDS)


@dataclass(frozen=True, slots=True)
class Reference:
    """What was said in one recording."""

    name: str
    """Path of the recording as the reference has it, `/` separators."""
    part: str
    """What of the file is meant, as `asrbatch.data.Source.part` writes it."""
    text: str
    language: str | None
    has_ending: bool = True
    """Whether the name ends as the recording's does; not where it is that of a `.txt`."""

    @property
    def key(self) -> str:
        """Unique among the references."""
        return self.name + self.part


def read_references(path: Path) -> list[Reference]:
    """Read references of any form.

    Raises:
        ConfigError: They cannot be read, there are none, or one recording has two.
    """
    if path.is_dir():
        references = list(_read_folder(path))
    elif path.suffix.lower() in JSON_SUFFIXES:
        references = list(_read_manifest(path))
    else:
        references = list(_read_table(path))
    if not references:
        msg = f"ref: {path} holds no reference; give a table, a manifest with text, or a folder of .txt"
        raise ConfigError(msg)
    seen: set[str] = set()
    for reference in references:
        if reference.key in seen:
            msg = f"ref: {path} has two references for {reference.key}; leave one"
            raise ConfigError(msg)
        seen.add(reference.key)
    return references


def _read_folder(folder: Path) -> Iterator[Reference]:
    for path in sorted(folder.rglob("*.txt")):
        name = printable(path.relative_to(folder).with_suffix("").as_posix())
        yield Reference(name, "", read_text(path).strip(), None, has_ending=False)


def _read_manifest(path: Path) -> Iterator[Reference]:
    for place, row in read_objects(path, read_text(path)):
        source = read_entry(row, place)
        text = row.get("text")
        if not isinstance(text, str):
            raise place.error(f"text is {text!r}; give what was said, or an empty text for nothing")
        yield Reference(source.name, source.part, text, source.language)


def _read_table(path: Path) -> Iterator[Reference]:
    table = csv.DictReader(read_text(path).splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    names = table.fieldnames or ()
    field = next((name for name in FILE_FIELDS if name in names), None)
    if field is None or "text" not in names:
        msg = f"ref: the first line of {path} names no file and text; begin it with file, a tab and text"
        raise ConfigError(msg)
    for number, row in enumerate(table, 2):
        place = Place(path, f"line {number}")
        if not row[field] or row["text"] is None:
            raise place.error(f"{field} or text is missing; give both with a tab between")
        spoken = {"language": None if row.get("language") == "-" else row.get("language")}
        language = pick_language(spoken, place, "language")
        yield Reference(
            printable(row[field]), _part(row.get("channel"), place), row["text"], language
        )


def _part(channel: str | None, place: Place) -> str:
    if channel in (None, "", "-"):
        return ""
    if not (channel.isascii() and channel.isdigit()):
        raise place.error(f"channel is {channel!r}; give a number from 0, or -")
    return f"#c{int(channel)}"
