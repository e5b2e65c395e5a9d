"""What makes a recording and a run the same again: content ids, names, options fingerprints."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import orjson
from blake3 import blake3

from asrbatch.errors import AudioDecodeError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


BLOCK_BYTES = 1 << 20


def content_id(path: Path) -> str:
    """BLAKE3 of a file's bytes, in hexadecimal.

    Raises:
        AudioDecodeError: The file cannot be read.
    """
    digest = blake3()
    try:
        # Not memory-mapped: pages of a ten-hour file would count as memory of this process, and
        # a file that shrinks meanwhile would end it with SIGBUS.
        with path.open("rb", buffering=0) as file:
            while block := file.read(BLOCK_BYTES):
                digest.update(block)
    except OSError as error:
        msg = f"cannot be read: {error.strerror or error}"
        raise AudioDecodeError(msg) from error
    return digest.hexdigest()


def options_fingerprint(options: Mapping[str, object]) -> str:
    """Short digest of everything that can change a text; the order of the keys does not matter."""
    return blake3(orjson.dumps(options, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


@lru_cache(maxsize=1024)
def root_digest(root: str) -> str:
    """Short digest of a folder, so that the same names below two of them are told apart."""
    return blake3(root.encode("utf-8", "surrogateescape")).hexdigest()[:12] if root else ""


def printable(name: str) -> str:
    """A name that UTF-8 can hold: what it cannot, such as bytes of another encoding, is escaped."""
    if name.isascii():
        return name
    return name.encode("utf-8", "backslashreplace").decode()


def part_of_id(recording_id: str) -> str:
    """What of its file a recording is, as `asrbatch.data.Source.part` writes it, by its id."""
    _, mark, part = recording_id.partition("#")
    return mark + part
