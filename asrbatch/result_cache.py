"""What any run has heard, by content and options.

The same recording under another name, in another folder or another night is answered from here,
without the engine. A cache may lose everything but must never stop a run: whatever is wrong with
its file, it says so once and is off. Runs may share it; each entry carries a checksum.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from pathlib import Path
from typing import NamedTuple

from blake3 import blake3

logger = logging.getLogger(__name__)

SCHEMA_VERSION = 1

MAX_ROWS = 1_000_000

BUSY_TIMEOUT_S = 1.0
"""How long to wait for another run that writes at the same moment."""

TOUCH_INTERVAL_S = 86_400
"""The time of last use is kept to a day, so that most look-ups write nothing."""

CREATE = """
CREATE TABLE results (
    content TEXT NOT NULL, options TEXT NOT NULL, value BLOB NOT NULL, digest BLOB NOT NULL,
    used_at INTEGER NOT NULL, PRIMARY KEY (content, options)
) WITHOUT ROWID
"""


class CacheInfo(NamedTuple):
    """How much is in a cache."""

    path: Path
    entries: int
    num_bytes: int


def cache_folder() -> Path:
    """Folder for what may be lost: `ASRBATCH_CACHE_DIR`, or the user's cache folder."""
    from platformdirs import user_cache_path  # noqa: PLC0415  (kept out of --help)

    given = os.environ.get("ASRBATCH_CACHE_DIR")
    return Path(given) if given else user_cache_path("asrbatch")


def cache_path() -> Path:
    """Where results are kept for other runs."""
    return cache_folder() / "results.sqlite"


class ResultCache:
    """A table of answers; to be used from any thread."""

    def __init__(self, path: Path | None, *, max_rows: int = MAX_ROWS) -> None:
        """Open it, and make it where it is not there.

        Args:
            path: Its file; None for one that only this object sees and that goes with it.
            max_rows: How many answers to keep, those used last.
        """
        self._path = path
        self._max_rows = max_rows
        self._lock = threading.Lock()
        self._added = 0
        self._connection = self._open()

    def get(self, content: str, options: str) -> bytes | None:
        """The answer for a content id and an options fingerprint; None where there is none."""
        with self._lock:
            if self._connection is None:
                return None
            try:
                return self._get(self._connection, content, options)
            except sqlite3.Error as error:
                self._turn_off(error)
                return None

    def put(self, content: str, options: str, value: bytes) -> None:
        """Keep an answer."""
        with self._lock:
            if self._connection is None:
                return
            row = (content, options, value, blake3(value).digest(), int(time.time()))
            try:
                self._connection.execute("REPLACE INTO results VALUES (?, ?, ?, ?, ?)", row)
                self._added += 1
            except sqlite3.Error as error:
                self._turn_off(error)

    def info(self) -> CacheInfo:
        """Number of answers, and bytes of the file."""
        with self._lock:
            num_bytes = self._path.stat().st_size if self._path and self._path.exists() else 0
            count = self._count() if self._connection is not None else 0
            return CacheInfo(self._path or Path(), count, num_bytes)

    def prune(self, max_rows: int) -> int:
        """Drop the answers that were not used for longest; how many."""
        with self._lock:
            return self._prune(max_rows)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is None:
                return
            if self._added and self._path is not None:
                self._prune(self._max_rows)
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _open(self) -> sqlite3.Connection | None:
        try:
            if self._path is not None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
            try:
                return self._connect()
            except sqlite3.OperationalError:
                raise  # locked, or no permission: it is not broken
            except sqlite3.DatabaseError as error:
                return self._begin_anew(error)
        except (sqlite3.Error, OSError) as error:
            self._warn(error)
            return None

    def _connect(self) -> sqlite3.Connection | None:
        connection = sqlite3.connect(
            self._path or "", BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("BEGIN IMMEDIATE")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version > SCHEMA_VERSION:
                logger.warning(
                    "cache: %s is of a newer asrbatch, and not used; update asrbatch", self._path
                )
                connection.close()
                return None
            if version < SCHEMA_VERSION:
                connection.execute("DROP TABLE IF EXISTS results")
                connection.execute(CREATE)
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            connection.execute("COMMIT")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _begin_anew(self, error: sqlite3.Error) -> sqlite3.Connection | None:
        """Put a broken file aside."""
        if self._path is None:
            raise error
        logger.warning("cache: %s is broken (%s); begun anew", self._path, error)
        self._path.replace(self._path.with_name(self._path.name + ".broken"))
        return self._connect()

    def _get(self, connection: sqlite3.Connection, content: str, options: str) -> bytes | None:
        key = (content, options)
        row = connection.execute(
            "SELECT value, digest, used_at FROM results WHERE content = ? AND options = ?", key
        ).fetchone()
        if row is None:
            return None
        value, digest, used_at = bytes(row[0]), row[1], row[2]
        if blake3(value).digest() != digest:
            connection.execute("DELETE FROM results WHERE content = ? AND options = ?", key)
            return None
        now = int(time.time())
        if now - used_at > TOUCH_INTERVAL_S:
            connection.execute(
                "UPDATE results SET used_at = ? WHERE content = ? AND options = ?", (now, *key)
            )
        return value

    def _count(self) -> int:
        if self._connection is None:
            return 0
        (count,) = self._connection.execute("SELECT count(*) FROM results").fetchone()
        return int(count)

    def _prune(self, max_rows: int) -> int:
        if self._connection is None:
            return 0
        try:
            surplus = self._count() - max_rows
            if surplus > 0:
                self._connection.execute(
                    "DELETE FROM results WHERE (content, options) IN "
                    "(SELECT content, options FROM results ORDER BY used_at LIMIT ?)",
                    (surplus,),
                )
                self._connection.execute("VACUUM")
        except sqlite3.Error as error:
            self._turn_off(error)
            return 0
        return max(0, surplus)

    def _turn_off(self, error: sqlite3.Error) -> None:
        self._warn(error)
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _warn(self, error: Exception) -> None:
        logger.warning(
            "cache: %s cannot be used (%s), so results are not shared with other runs",
            self._path,
            error,
        )
