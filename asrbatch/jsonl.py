"""JSONL files that survive crashes: appended line by line, repaired, replaced whole."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any, BinaryIO

import orjson

from asrbatch.errors import ConfigError, OutputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

logger = logging.getLogger(__name__)


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of a file; nothing where there is no file.

    Raises:
        ConfigError: A line is no JSON object.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                msg = f"line {number} of {path} is not JSON ({error}); mend it, or choose another file"
                raise ConfigError(msg) from error
            if not isinstance(row, dict):
                msg = f"line {number} of {path} is no result; choose another file"
                raise ConfigError(msg)
            yield row


def repair_tail(path: Path, begins: bytes) -> None:
    """Complete or drop the last line that a crash left torn; nothing where there is no file.

    Args:
        path: A file of ours; one that is not is left as it is.
        begins: First bytes of each line that is ours.

    Raises:
        ConfigError: The file does not begin like one of ours.
    """
    if not path.exists():
        return
    with path.open("rb+") as file:
        head = file.read(len(begins))
        if head != begins[: len(head)]:
            msg = f"out: {path} holds no results of asrbatch; choose another --out"
            raise ConfigError(msg)
        end = file.seek(0, os.SEEK_END)
        torn = _last_line(file, end)
        if not torn or torn.endswith(b"\n"):
            return
        try:
            orjson.loads(torn)
        except orjson.JSONDecodeError:
            logger.warning("dropped a torn last line of %d bytes in %s", len(torn), path)
            file.truncate(end - len(torn))
        else:
            file.write(b"\n")


def _last_line(file: BinaryIO, end: int) -> bytes:
    """The last line with its newline, if it has one."""
    start, tail = end, b""
    while start and b"\n" not in tail[:-1]:
        start = max(0, start - 65536)
        file.seek(start)
        tail = file.read(end - start)
    return tail[tail[:-1].rfind(b"\n") + 1 :]


def append_line(path: Path, line: bytes) -> None:
    """Append one line in one write; where that fails, no half of it stays.

    Raises:
        OutputError: There is no room, or the permission is gone.
    """
    try:
        with path.open("ab", buffering=0) as file:
            end = file.tell()
            try:
                written = file.write(line + b"\n")
            except OSError:
                file.truncate(end)
                raise
            if written != len(line) + 1:
                file.truncate(end)
                raise OSError(None, "only a part of the line fitted")
    except OSError as error:
        raise output_error(path, error) from error


def sync(path: Path) -> None:
    """Bring what was appended onto the disk; nothing where there is no file."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(path: Path, lines: Iterable[bytes]) -> None:
    """Write a file so that at any moment either the old or the new one is there, whole."""
    # The ledger's lock lets one process write at a time, so a killed one leaves no more than this.
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise output_error(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def output_error(path: Path, error: Exception) -> OutputError:
    """The error that says that a file cannot be written."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return OutputError(f"{path} cannot be written: {reason}; make room or choose another place")
