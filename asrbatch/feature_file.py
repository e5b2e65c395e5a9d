"""A recording's features in a file: written piece by piece, checked whole, read in place.

Arrays of float32 lie one after the other at multiples of 64 bytes, then comes an index, then a
trailer with a digest of all before it. It is a format of our own because an hour of features is
184 MB and a worker holds one segment at a time: safetensors wants all arrays at once, diskcache
and SQLite take a value in one piece and give back a copy.
"""

from __future__ import annotations

import logging
import math
import mmap
import os
import struct
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

import numpy as np
import orjson
from blake3 import blake3

from asrbatch.data import ALIGNMENT, FeatureSet, FeatureSpan

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

logger = logging.getLogger(__name__)

MAGIC = b"asrbmel1"

TRAILER = struct.Struct("<QQ32s8s")
"""Where the index begins, its bytes, BLAKE3 of everything before, and the magic."""


class FeatureWriter:
    """Writes one file, which appears whole or not at all; whatever goes wrong is only noted."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        """Begin.

        Args:
            path: Where it will be.
            max_bytes: What would be larger is given up.
        """
        self.error = ""
        """Why nothing is written any more; empty where all is well, or it was too large."""
        self._path = path
        self._part = path.with_name(f"{path.name}.{os.getpid()}.part")
        self._max_bytes = max_bytes
        self._offset = 0
        self._digest = blake3()
        self._index: list[dict[str, object]] = []
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] | None = self._part.open("wb", buffering=0)
        except OSError as error:
            self._file = None
            self._give_up(error)

    def add(self, span: FeatureSpan) -> None:
        """Write the next span."""
        if self._file is None:
            return
        if self._offset + span.audio.nbytes > self._max_bytes:
            self.discard()
            return
        row: dict[str, object] = {"start": span.start_sample, "num": span.num_samples}
        row |= {
            "cut": span.cut,
            "channel": span.channel,
            "speech": span.speech_samples,
            "offset": self._offset,
            "shape": span.audio.shape,
        }
        self._index.append(row)
        try:
            self._write(self._file, span.audio.data.cast("B"))
            self._write(self._file, memoryview(bytes(-self._offset % ALIGNMENT)))
        except OSError as error:
            self._give_up(error)

    def commit(self, flags: tuple[str, ...], num_samples: int) -> int:
        """Write the end, and put the file in its place.

        Args:
            flags: Of the decoder.
            num_samples: Of the whole recording, what is left out included.

        Returns:
            Its bytes; 0 where it was given up.
        """
        if self._file is None:
            return 0
        start = self._offset
        index = orjson.dumps({"flags": flags, "num": num_samples, "spans": self._index})
        try:
            self._write(self._file, memoryview(index))
            trailer = TRAILER.pack(start, len(index), self._digest.digest(), MAGIC)
            self._write(self._file, memoryview(trailer))
            self._file.close()
            self._part.replace(self._path)
        except OSError as error:
            self._give_up(error)
            return 0
        self._file = None
        return self._offset

    def discard(self) -> None:
        """Leave nothing behind, unless it was committed."""
        if self._file is not None:
            self._file.close()
            self._file = None
            with suppress(OSError):
                self._part.unlink()

    def _write(self, file: IO[bytes], data: memoryview) -> None:
        self._digest.update(data)
        self._offset += len(data)
        while data:
            data = data[file.write(data) :]

    def _give_up(self, error: OSError) -> None:
        self.error = error.strerror or str(error)
        self.discard()


@contextmanager
def writing(path: Path | None, max_bytes: int) -> Iterator[FeatureWriter | None]:
    """Write a file, which is gone at the end unless it was committed; None where there is no path."""
    if path is None:
        yield None
        return
    writer = FeatureWriter(path, max_bytes)
    try:
        yield writer
    finally:
        writer.discard()


def read_features(path: Path) -> FeatureSet | None:
    """Features of a file, as arrays that lie in it.

    Returns:
        None where there is no such file; one that is broken is deleted, and None too.
    """
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        os.utime(path)  # the last one used is the last one to go
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:  # no permission; an empty file cannot be mapped
        _drop(path, error)
        return None
    try:
        return _parse(mapped)
    except (struct.error, ValueError, KeyError, TypeError) as error:
        _drop(path, error)
        return None


def _parse(mapped: mmap.mmap) -> FeatureSet:
    """Check a file and find its arrays; raises ValueError and the like where it is broken."""
    end = len(mapped) - TRAILER.size
    start, num_bytes, digest, magic = TRAILER.unpack_from(mapped, max(0, end))
    if magic != MAGIC or start + num_bytes != end:
        msg = "it does not end as it should"
        raise ValueError(msg)
    if blake3(memoryview(mapped)[:end]).digest() != digest:
        msg = "its checksum is wrong"
        raise ValueError(msg)
    index = orjson.loads(mapped[start:end])
    spans = []
    for row in index["spans"]:
        shape = tuple(row["shape"])
        array = np.frombuffer(mapped, np.float32, math.prod(shape), row["offset"])
        audio = array.reshape(shape)
        spans.append(
            FeatureSpan(
                start_sample=row["start"],
                num_samples=row["num"],
                cut=row["cut"],
                audio=audio,
                speech_samples=row["speech"],
                channel=row["channel"],
            )
        )
    return FeatureSet(tuple(spans), tuple(index["flags"]), index["num"])


def _drop(path: Path, error: Exception) -> None:
    logger.debug("feature cache: %s is dropped: %s", path, error)
    with suppress(OSError):
        path.unlink()
