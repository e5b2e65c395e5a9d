"""Lines and values of manifests, checked; every complaint says where."""

from __future__ import annotations

import gzip
import os
import posixpath
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from asrbatch.context import split_hotwords
from asrbatch.data import SAMPLE_RATE
from asrbatch.errors import ConfigError
from asrbatch.identity import printable
from asrbatch.languages import parse_language
from asrbatch.scan.files import file_mode

if TYPE_CHECKING:
    from collections.abc import Iterator

Row: TypeAlias = dict[str, Any]
"""One object of a JSON manifest."""

MAX_SECONDS = 1e9
"""Thirty years; more is a mistake in the unit."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a manifest something stands."""

    manifest: Path
    where: str
    """For example `line 3`."""

    def error(self, problem: str) -> ConfigError:
        """The error for a problem at this place."""
        return ConfigError(printable(f"manifest: {self.manifest}, {self.where}: {problem}"))


def read_text(path: Path) -> str:
    """Text of a manifest, unpacked where it is gzipped.

    Bytes that are no UTF-8 become surrogates, as in paths, so that names of any encoding work.

    Raises:
        ConfigError: It is no regular file, or cannot be read.
    """
    mode = file_mode(path)
    if mode is None or not stat.S_ISREG(mode):
        problem = "there is no such file" if mode is None else "it is not a regular file"
        msg = f"manifest: {path} cannot be read: {problem}; check the path"
        raise ConfigError(msg)
    try:
        data = path.read_bytes()
        if data.startswith(b"\x1f\x8b"):
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        msg = f"manifest: {path} cannot be read: {error}; mend it"
        raise ConfigError(msg) from error
    return data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")


def lines(path: Path, text: str) -> Iterator[tuple[Place, str]]:
    """Lines that are not blank, without the white space around them."""
    # Not `splitlines`, which also splits at characters that names and JSON may hold.
    for number, line in enumerate(text.split("\n"), 1):
        if stripped := line.strip():
            yield Place(path, f"line {number}"), stripped


def locate(listed: object, field: str, place: Place) -> tuple[Path, str]:
    """Find a file that a manifest lists; it need not exist.

    A relative path starts from the folder of the manifest, or from the working directory where
    the file is only there.

    Args:
        listed: Path as it is written.
        field: What the path is called in the manifest.
        place: Where it is written.

    Returns:
        What to open, and its name: a relative path as written, an absolute one relative to the
        folder of the manifest if it lies below.

    Raises:
        ConfigError: It is no path, or leads to a pipe, a socket or a device.
    """
    if not isinstance(listed, str) or not _is_possible(listed):
        raise place.error(f"{field} is {listed!r}; give the path of a file")
    folder = place.manifest.parent
    path = folder / listed
    mode = file_mode(path)
    if mode is None and (beside := file_mode(Path(listed))) is not None:
        path, mode = Path(listed), beside
    if mode is not None and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise place.error(f"{field}: {listed} is a pipe, a socket or a device; give a file")
    return path, printable(_name(listed, folder))


def _is_possible(path: str) -> bool:
    try:
        return b"\0" not in os.fsencode(path) and path != ""
    except UnicodeEncodeError:  # half a character, as only JSON can write it
        return False


def _name(listed: str, folder: Path) -> str:
    name = posixpath.normpath(listed)
    if posixpath.isabs(name):
        below = posixpath.normpath((Path.cwd() / folder).as_posix()).rstrip("/") + "/"
        name = name.removeprefix(below)
    return name


def to_samples(seconds: object, field: str, place: Place) -> int:
    """Samples at 16 kHz for a position or length in seconds.

    Raises:
        ConfigError: It is no number, not finite, or below 0.
    """
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not 0 <= seconds <= MAX_SECONDS:  # type: ignore[operator]
        raise place.error(f"{field} is {seconds!r}; give seconds, a number from 0")
    return round(seconds * SAMPLE_RATE)  # type: ignore[operator]


def to_length(seconds: object, field: str, place: Place) -> int:
    """Samples at 16 kHz for a length in seconds.

    Raises:
        ConfigError: It is no number, not finite, or less than a sample.
    """
    num_samples = to_samples(seconds, field, place)
    if not num_samples:
        raise place.error(f"{field} is {seconds!r}, which is nothing; give more, or drop the line")
    return num_samples


def to_channel(channel: object, field: str, place: Place) -> int:
    """A channel number, from 0.

    Raises:
        ConfigError: It is no integer, or below 0.
    """
    if not isinstance(channel, int) or isinstance(channel, bool) or channel < 0:
        raise place.error(f"{field} is {channel!r}; give one channel, an integer from 0")
    return channel


def pick(row: Row, *fields: str) -> tuple[str, Any]:
    """First of the fields that is there and not null, with its value; the value None if none is."""
    return next(((f, row[f]) for f in fields if row.get(f) is not None), (fields[0], None))


def pick_text(row: Row, place: Place, *fields: str) -> str | None:
    """Text of the first of the fields that is there and not null; None if none or an empty one is.

    Raises:
        ConfigError: It is no text.
    """
    field, value = pick(row, *fields)
    if value is not None and not isinstance(value, str):
        raise place.error(f"{field} is {value!r}; give text, or leave it out")
    return printable(value) if value else None


def pick_words(row: Row, place: Place, field: str) -> list[str]:
    """Words of a field: a list of them, or a text with commas between.

    Raises:
        ConfigError: It is neither.
    """
    value = row.get(field)
    if value is None:
        return []
    if isinstance(value, str):
        value = split_hotwords(value)
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise place.error(f"{field} is {value!r}; give a list of words, or text with commas")
    return [printable(word.strip()) for word in value if word.strip()]


def pick_language(row: Row, place: Place, *fields: str) -> str | None:
    """Language of the first of the fields that is there; None where it is `auto`.

    Raises:
        ConfigError: It is no text.
    """
    language = pick_text(row, place, *fields)
    if language is None:
        return None
    try:
        return parse_language(language)
    except ConfigError as error:
        raise place.error(str(error)) from error
