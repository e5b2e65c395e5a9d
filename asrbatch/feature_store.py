"""Features that were computed before: in memory, then on disk; the audio file is the last tier.

They pay where the same audio meets a second model of the same features, another setting, or
another try. Memory is shared by all runs of a process, the disk by all runs of a machine.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import orjson
from blake3 import blake3
from cachetools import LRUCache

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from asrbatch.data import FeatureSet, MelParams, RawFormat, SpeechParams

logger = logging.getLogger(__name__)

FEATURES_VERSION = 2
"""To be raised with every change to decoding, cutting or features."""

ENDING = ".features"

EVICTED_SHARE = 0.1
"""Of the bound, freed at once, so that not each new file looks at all others."""

MAX_PART_AGE_S = 86_400
"""A file that is not finished after a day was left by a worker that was killed."""


class StoreInfo(NamedTuple):
    """How much is on disk."""

    folder: Path
    entries: int
    num_bytes: int


class FeatureStore:
    """Two tiers of features by key; to be used from any thread."""

    def __init__(self, folder: Path, max_bytes: int, memory_bytes: int) -> None:
        """Look at what is there.

        Args:
            folder: Of the disk tier; made where it is not there.
            max_bytes: Of the disk tier; what was not used for longest goes first.
            memory_bytes: Of the memory tier; 0 is none.
        """
        self.folder = folder
        self.max_bytes = max_bytes
        self.memory_bytes = memory_bytes
        self._lock = threading.Lock()
        self._memory: LRUCache[str, FeatureSet] = LRUCache(memory_bytes, lambda s: s.num_bytes)
        self._num_bytes = self.info().num_bytes
        self._is_on = True

    def recall(self, key: str) -> FeatureSet | None:
        """Features in memory; None where they are not."""
        with self._lock:
            return self._memory.get(key)

    def keep(self, key: str, features: FeatureSet) -> None:
        """Put features into memory."""
        with self._lock, suppress(ValueError):  # larger than all of it
            self._memory[key] = features

    def path(self, key: str) -> Path | None:
        """Where a worker finds features or writes them; None where the disk tier is off."""
        return self.folder / key[:2] / f"{key}{ENDING}" if self._is_on else None

    def note_written(self, num_bytes: int) -> None:
        """Count what a worker has written, and make room where that is too much."""
        with self._lock:
            self._num_bytes += num_bytes
            if self._num_bytes <= self.max_bytes:
                return
        self.prune(round((1 - EVICTED_SHARE) * self.max_bytes))

    def turn_off(self, reason: str) -> None:
        """Use the disk tier no more; says so once."""
        with self._lock:
            was_on, self._is_on = self._is_on, False
        if was_on:
            logger.warning(
                "feature cache: %s cannot be written (%s); the run goes on without it",
                *(self.folder, reason),
            )

    def info(self) -> StoreInfo:
        """Count the files."""
        sizes = [size for _, size, path in self._files() if path.suffix == ENDING]
        return StoreInfo(self.folder, len(sizes), sum(sizes))

    def prune(self, max_bytes: int) -> int:
        """Delete what was not used for longest; how many."""
        files = sorted(self._files())
        total, deleted = sum(size for _, size, _ in files), 0
        for used_at, size, path in files:
            is_left_over = path.suffix != ENDING and time.time() - used_at > MAX_PART_AGE_S
            if total <= max_bytes and not is_left_over:
                continue
            with suppress(OSError):
                path.unlink()
                total -= size
                deleted += 1
        with self._lock:
            self._num_bytes = total
        return deleted

    def _files(self) -> Iterator[tuple[float, int, Path]]:
        """Time of last use, bytes and path of each."""
        for path in self.folder.glob(f"??/*{ENDING}*"):
            with suppress(OSError):  # another run has just deleted it
                stat = path.stat()
                yield stat.st_mtime, stat.st_size, path


open_store = lru_cache(maxsize=8)(FeatureStore)
"""One object for a folder and its bounds, so that the runs of a process share its memory."""


def feature_key(
    recording_id: str,
    mel: MelParams | None,
    chunk_samples: int,
    raw: RawFormat | None,
    speech: SpeechParams | None,
    channels: tuple[int | None, ...] = (None,),
) -> str:
    """Digest of all that features depend on.

    Args:
        recording_id: Content id with the part.
        mel: None where the model takes the waveform.
        chunk_samples: The chunk limit.
        raw: How headerless files are read.
        speech: What is left out; None leaves nothing out.
        channels: Those that are heard apart.
    """
    given = orjson.dumps(
        [FEATURES_VERSION, recording_id, mel, chunk_samples, raw, speech, channels]
    )
    return blake3(given).hexdigest()[:32]
