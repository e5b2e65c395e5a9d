"""What the front end asks of the feature store, and what it gives to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asrbatch.data import FeatureSet, FeatureSpan
from asrbatch.feature_store import feature_key

if TYPE_CHECKING:
    from pathlib import Path

    from asrbatch.data import Features, MelParams, Recording, Waveform
    from asrbatch.feature_store import FeatureStore
    from asrbatch.pipeline.config import RunConfig
    from asrbatch.pipeline.jobs import Decoded, Produced


class FeatureTiers:
    """Follows the features of each recording under way."""

    def __init__(
        self, store: FeatureStore | None, config: RunConfig, mel: MelParams | None
    ) -> None:
        """Begin.

        Args:
            store: None keeps nothing and knows nothing.
            config: Chunk limit and raw format.
            mel: What the model takes.
        """
        self._store = store
        self._config = config
        self._mel = mel
        self._keys: dict[int, str] = {}
        self._copies: dict[int, list[FeatureSpan]] = {}
        """For the memory tier, of recordings that may fit into it."""

    def begin(self, index: int, recording_id: str, channels: tuple[int | None, ...]) -> None:
        """A recording is to be decoded.

        Args:
            index: Its position in the plan.
            recording_id: Content id with the part.
            channels: Those that are heard apart.
        """
        config = self._config
        if self._store is not None:
            self._keys[index] = feature_key(
                *(recording_id, self._mel, config.chunk_samples, config.raw_format),
                *(config.speech, channels),
            )

    def recall(self, index: int) -> FeatureSet | None:
        """Its features in memory; None where they are not, and are to be copied."""
        if self._store is None or not self._store.memory_bytes:
            return None
        found = self._store.recall(self._keys[index])
        if found is None:
            self._copies[index] = []
        return found

    def path(self, index: int) -> Path | None:
        """Where its features are on disk, or will be."""
        return self._store.path(self._keys[index]) if self._store else None

    def add(self, produced: Produced, recording: Recording, audio: Waveform | Features) -> None:
        """Copy a segment for the memory tier."""
        if self._store is None or produced.index not in self._copies:
            return
        copies, segment = self._copies[produced.index], produced.segment
        start_sample = segment.start_sample - recording.source.start_sample
        span = FeatureSpan(
            *(start_sample, segment.num_samples, segment.cut, audio.copy()),
            *(segment.speech_samples, segment.channel),
        )
        copies.append(span)
        if sum(copy.audio.nbytes for copy in copies) > self._store.memory_bytes:
            del self._copies[produced.index]

    def finish(self, decoded: Decoded) -> None:
        """All of a recording has been produced."""
        key = self._keys.pop(decoded.index, None)
        if self._store is None or key is None:
            return
        copies = self._copies.pop(decoded.index, None)
        if copies is not None:
            self._store.keep(key, FeatureSet(tuple(copies), decoded.flags, decoded.num_samples))
        if decoded.written_bytes:
            self._store.note_written(decoded.written_bytes)
        if decoded.write_error:
            self._store.turn_off(decoded.write_error)

    def forget(self, index: int) -> None:
        """A recording needs no worker, or none can do it."""
        self._keys.pop(index, None)
        self._copies.pop(index, None)
