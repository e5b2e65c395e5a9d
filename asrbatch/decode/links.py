"""Find the links of a chained file.

`cat a.ogg b.ogg` is one file of two links (RFC 3533), each with a rate and channels of its own;
of FLAC the same is done. libsndfile gives the first link and says nothing; FFmpeg refuses
Vorbis whose rate changes, and drops FLAC whose channels change. So each link is read as a file
of its own.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from pathlib import Path

PAGE_HEADER_BYTES = 27
FIRST_PAGE, LAST_PAGE = 2, 4
"""Bits of a page's flags: it begins, it ends a logical stream."""


FLAC_START = re.compile(rb"fLaC[\x00\x80]\x00\x00\x22")
FLAC_START_BYTES = 8
"""The marker, and the header of the STREAMINFO block that always follows it."""


@dataclass(slots=True)
class Link:
    """A byte range that is a file of its own."""

    path: Path
    start: int
    stop: int
    is_whole: bool
    """Nothing shows that its end is missing: of Ogg, the last page is whole and says so."""


def find_ogg_links(path: Path) -> list[Link]:
    """Walk the page headers of an Ogg file.

    Returns:
        Links in order; they tile the file from its first page. None where it is no Ogg.
    """
    links: list[Link] = []
    was_first_page = False
    with path.open("rb", buffering=1 << 16) as file:
        num_bytes = file.seek(0, io.SEEK_END)
        position = _next_page(file, 0)
        while position is not None:
            file.seek(position)
            header = file.read(PAGE_HEADER_BYTES + 255)
            num_segments = header[26] if len(header) >= PAGE_HEADER_BYTES else 0
            table = header[PAGE_HEADER_BYTES : PAGE_HEADER_BYTES + num_segments]
            stop = position + PAGE_HEADER_BYTES + num_segments + sum(table)
            is_first_page = len(header) > 5 and bool(header[5] & FIRST_PAGE)
            # The streams of one link all begin before any of them goes on.
            if not links or (is_first_page and not was_first_page):
                links.append(Link(path, position, stop, is_whole=False))
            was_first_page = is_first_page
            links[-1].stop = min(stop, num_bytes)
            links[-1].is_whole = (
                len(header) >= PAGE_HEADER_BYTES
                and bool(header[5] & LAST_PAGE)
                and stop <= num_bytes
            )
            position = _next_page(file, stop)
    return links


def find_flac_links(path: Path) -> list[Link]:
    """Find where FLAC files begin within a file (RFC 9639, section 8).

    Returns:
        Links in order, from the first marker on. None where it is no FLAC.
    """
    starts: list[int] = []
    position, tail = 0, b""
    with path.open("rb") as file:
        while window := file.read(1 << 20):
            joined = tail + window
            origin = position - len(tail)
            starts += [origin + match.start() for match in FLAC_START.finditer(joined)]
            position += len(window)
            tail = joined[1 - FLAC_START_BYTES :]
    stops = [*starts[1:], position]
    return [Link(path, *ends, is_whole=True) for ends in zip(starts, stops, strict=False)]


def open_link(link: Link) -> io.BufferedReader:
    """Open a link as if it were a file."""
    return io.BufferedReader(_ByteRange(link), buffer_size=1 << 16)


def _next_page(file: BinaryIO, position: int) -> int | None:
    """Position of the first page at or after `position`; damaged bytes are passed over."""
    file.seek(position)
    window = file.read(4)
    while window:
        found = window.find(b"OggS")
        if found >= 0:
            return position + found
        position += max(0, len(window) - 3)
        file.seek(position)
        window = file.read(1 << 16)
        if len(window) < 4:
            return None
    return None


class _ByteRange(io.RawIOBase):
    """The bytes of a link, as a file."""

    def __init__(self, link: Link) -> None:
        self._file = link.path.open("rb", buffering=0)
        self._start = link.start
        self._num_bytes = link.stop - link.start
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._num_bytes}
        self._position = max(0, origin[whence] + offset)
        return self._position

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        wanted = min(len(buffer), max(0, self._num_bytes - self._position))
        self._file.seek(self._start + self._position)
        data = self._file.read(wanted)
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()
