"""What is done and what failed: one line per recording, written at once, safe against any crash.

A line is appended when its recording is finished, and synced to disk within a second. Where a
recording is done anew (its content or the options changed), the new line is appended first and
the old one is dropped when the ledger is closed, or opened the next time.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
from filelock import FileLock, Timeout

from asrbatch.data import Failure
from asrbatch.errors import ConfigError, LockedError, OutputError
from asrbatch.identity import printable, root_digest
from asrbatch.jsonl import (
    append_line,
    output_error,
    read_rows,
    repair_tail,
    sync,
    write_atomically,
)
from asrbatch.ticker import Ticker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from asrbatch.data import Source, Transcript

logger = logging.getLogger(__name__)

SYNC_INTERVAL_S = 1.0

RESULT_BEGINS, FAILURE_BEGINS = b'{"schema"', b'{"path"'
"""First bytes of each line: what begins otherwise is somebody else's and is not touched."""


class _Done(NamedTuple):
    size_bytes: int
    mtime_ns: int
    options: str
    id: str
    root: str


def failures_path(out: Path) -> Path:
    """`results.failures.jsonl` for `results.jsonl`."""
    return out.with_name(f"{out.stem}.failures.jsonl")


def summary_path(out: Path) -> Path:
    """`results.summary.json` for `results.jsonl`."""
    return out.with_name(f"{out.stem}.summary.json")


def sessions_path(out: Path) -> Path:
    """`results.sessions.jsonl` for `results.jsonl`."""
    return out.with_name(f"{out.stem}.sessions.jsonl")


def files_of(out: Path) -> frozenset[Path]:
    """Everything that is written for `results.jsonl`."""
    out = out.resolve()
    lock = out.with_name(f"{out.name}.lock")
    return frozenset({out, lock, failures_path(out), summary_path(out), sessions_path(out)})


class Ledger:
    """Results and failures of one output file; one process at a time."""

    def __init__(self, out: Path, *, overwrite: bool = False) -> None:
        """Lock the results, repair and read what is there; nothing is removed yet.

        Args:
            out: `results.jsonl`; its folder must exist.
            overwrite: Start anew: pass over what is there, and remove it when work begins.

        Raises:
            ConfigError: `out` is something else than results of this tool.
            LockedError: Another run writes to it.
            OutputError: It cannot be written.
        """
        # Locked, written and replaced is what a link leads to, under whatever name it is given.
        self.out = out = out.resolve()
        self._overwrite = overwrite
        self._keys: dict[str, _Done] = {}
        self._contents: dict[tuple[str, str], frozenset[str]] | None = None
        self._failures: dict[str, Failure] = {}
        self._stale = False
        lock = out.with_name(f"{out.name}.lock")
        self._lock = FileLock(lock, thread_local=False)
        try:
            self._lock.acquire(timeout=0)
        except Timeout as error:
            if not lock.exists():  # it could not be made at all
                msg = f"out: {out.parent} does not take new files; choose another --out"
                raise OutputError(msg) from error
            msg = f"out: another run is writing to {out}; wait for it, or choose another --out"
            raise LockedError(msg) from error
        except OSError as error:
            raise output_error(out, error) from error
        try:
            self._read()
        except BaseException:
            self._lock.release()
            raise
        self._syncer = Ticker(SYNC_INTERVAL_S, self._sync)

    def _read(self) -> None:
        try:
            self._read_results()
            repair_tail(failures_path(self.out), FAILURE_BEGINS)
            for row in read_rows(failures_path(self.out)):
                self._failures[row["path"]] = Failure(**row)
            repair_tail(sessions_path(self.out), RESULT_BEGINS)
        except (OSError, KeyError, TypeError) as error:
            raise output_error(self.out, error) from error
        if self._overwrite:
            self._keys, self._stale = {}, False

    def _read_results(self) -> None:
        repair_tail(self.out, RESULT_BEGINS)
        for number, row in enumerate(read_rows(self.out), 1):
            if not {"id", "path", "size_bytes", "mtime_ns", "options"} <= row.keys():
                msg = f"out: line {number} of {self.out} is no result of asrbatch; choose another --out"
                raise ConfigError(msg)
            self._remember(row)

    def _remember(self, row: dict[str, Any]) -> None:
        key = _key(row)
        self._stale = self._stale or key in self._keys
        done = _Done(
            row["size_bytes"], row["mtime_ns"], row["options"], row["id"], row.get("root", "")
        )
        self._keys[key] = done
        if self._contents is not None:
            _add(self._contents, key, done)

    def index_contents(self) -> None:
        """Make `is_content_done` ready; not needed where all is done by path, size and mtime."""
        self._contents = {}
        for key, done in self._keys.items():
            _add(self._contents, key, done)

    def begin(self, keys: Iterable[str]) -> dict[str, int]:
        """Make ready for writing; take the failures that are tried again out of their file.

        Args:
            keys: Of all recordings of this run.

        Returns:
            How often each of them failed before.

        Raises:
            OutputError: The results cannot be written.
        """
        if self._overwrite:
            write_atomically(self.out, [])
            self._failures = {}
        elif self._stale:
            self._compact()
        wanted = self._failures.keys() & set(keys)
        self._write_failures(f for key, f in self._failures.items() if key not in wanted)
        return {key: self._failures[key].attempts for key in wanted}

    def tell_apart(self, sources: Sequence[Source]) -> list[Source]:
        """Rename sources whose names belong to files of other folders.

        `day1/call.wav` and `day2/call.wav` are both `call.wav` to a run over their own folder;
        in one results file the second is `day2/call.wav`, or has a digest where that is taken.
        """
        return [
            self._renamed(source) if self._is_of_other(source) else source for source in sources
        ]

    def _is_of_other(self, source: Source) -> bool:
        done = self._keys.get(source.key)
        return (
            done is not None
            and bool(done.root and source.root)
            and (done.root != root_digest(source.root))
        )

    def _renamed(self, source: Source) -> Source:
        folder = printable(source.root.rpartition("/")[2])
        longer = replace(source, name=f"{folder}/{source.name}")
        if not self._is_of_other(longer):
            return longer
        return replace(source, name=f"{source.name}~{root_digest(source.root)}")

    def is_done(self, source: Source, size_bytes: int, mtime_ns: int, options: str) -> bool:
        """Whether the same path, size and mtime was done with the same options."""
        done = self._keys.get(source.key)
        return done is not None and done[:3] == (size_bytes, mtime_ns, options)

    def is_content_done(
        self, recording_id: str, options: str, source: Source, keys: frozenset[str]
    ) -> bool:
        """Whether this content was done under this name, or under one that is gone.

        To be asked after `index_contents`.

        Args:
            recording_id: Content id with the part.
            options: Fingerprint.
            source: Where the content was found now.
            keys: Of all recordings of this run; a name among them is a copy, not gone.
        """
        done_as = (self._contents or {}).get((recording_id, options), frozenset())
        return source.key in done_as or bool(done_as - keys)

    def write(self, transcript: Transcript) -> None:
        """Append a finished recording.

        Raises:
            OutputError: There is no room, or the permission is gone; no half line is left.
        """
        line = orjson.dumps(transcript)
        append_line(self.out, line)
        row = orjson.loads(line)
        self._remember(row)
        self._failures.pop(_key(row), None)

    def fail(self, failure: Failure) -> None:
        """Append a failure.

        Raises:
            OutputError: As for `write`.
        """
        self._failures[failure.path] = failure
        append_line(failures_path(self.out), orjson.dumps(failure))

    def rows(self) -> Iterator[dict[str, Any]]:
        """All results, those of earlier runs included."""
        return read_rows(self.out)

    def write_sessions(self, sessions: Iterable[dict[str, Any]]) -> None:
        """Replace the transcripts of sessions.

        Raises:
            OutputError: They cannot be written.
        """
        lines = (orjson.dumps(session) + b"\n" for session in sessions)
        write_atomically(sessions_path(self.out), lines)

    def close(self) -> None:
        """Sync, drop what is superseded, and let the next run in.

        Raises:
            OutputError: The results cannot be written.
        """
        self._syncer.close()
        try:
            sync(self.out)
            if self._stale:
                self._compact()
            self._write_failures(self._failures.values())
        except OSError as error:
            raise output_error(self.out, error) from error
        finally:
            self._lock.release()

    def _sync(self) -> None:
        try:
            sync(self.out)
            sync(failures_path(self.out))
        except OSError as error:
            logger.warning("cannot sync %s: %s", self.out, error)

    def _compact(self) -> None:
        """Keep the last line of each recording."""
        last = {_key(row): number for number, row in enumerate(read_rows(self.out))}
        keep = set(last.values())
        rows = enumerate(read_rows(self.out))
        write_atomically(self.out, (orjson.dumps(row) + b"\n" for n, row in rows if n in keep))
        self._stale = False

    def _write_failures(self, failures: Iterable[Failure]) -> None:
        path = failures_path(self.out)
        lines = [orjson.dumps(failure) + b"\n" for failure in failures]
        if lines:
            write_atomically(path, lines)
        else:
            path.unlink(missing_ok=True)


def _add(contents: dict[tuple[str, str], frozenset[str]], key: str, done: _Done) -> None:
    # Replaced and never changed: the front end looks at it meanwhile.
    content = (done.id, done.options)
    contents[content] = contents.get(content, frozenset()) | {key}


def _key(row: dict[str, Any]) -> str:
    """Key of a result: its path, and the part of the file from its id."""
    _, mark, part = row["id"].partition("#")
    return f"{row['path']}{mark}{part}"
