"""Decides which recordings the model must hear: those not done, not known, and not under way."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from asrbatch.data import Transcript, TranscriptSegment, TranscriptWord
from asrbatch.pipeline.assembly import whose
from asrbatch.pipeline.messages import Known, Message, Opened

if TYPE_CHECKING:
    from collections.abc import Callable

    from asrbatch.data import Recording, Source
    from asrbatch.engines import ModelSpec
    from asrbatch.ledger import Ledger
    from asrbatch.result_cache import ResultCache

HEARD = ("duration_s", "speech_s", "skipped_s", "language", "text", "segments", "flags")
"""What of a transcript comes from the audio and the model alone, whatever the file is called."""


class Judge:
    """Looks up content ids; called by the front end's thread, told by the main thread."""

    def __init__(
        self,
        ledger: Ledger | None,
        cache: ResultCache,
        keys: frozenset[str],
        fingerprint: Callable[[Source], str],
    ) -> None:
        """Begin with nothing under way.

        Args:
            ledger: What earlier runs with the same results file did.
            cache: What any run did.
            keys: Of all recordings of this run.
            fingerprint: Of everything that can change the text of a source.
        """
        self._ledger = ledger
        self._cache = cache
        self._keys = keys
        self._fingerprint = fingerprint
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, str], list[Recording]] = {}
        """By content and options under way: recordings of the same content that wait for it."""
        if ledger is not None:
            ledger.index_contents()

    def __call__(self, recording: Recording, recording_id: str) -> Message | None:
        """What to do with a recording; None where one of the same content is under way."""
        options = self._fingerprint(recording.source)
        if self._ledger is not None and self._ledger.is_content_done(
            recording_id, options, recording.source, self._keys
        ):
            return Known(recording, recording_id, None)
        with self._lock:
            waiting = self._waiting.get((recording_id, options))
            if waiting is not None:
                waiting.append(recording)
                return None
            # Looked up under the lock: what is settled is in the cache before it is not under way.
            answer = self._cache.get(recording_id, options)
            if answer is not None:
                return Known(recording, recording_id, answer)
            self._waiting[recording_id, options] = []
        return Opened(recording, recording_id, time.perf_counter())

    def settle(
        self, recording_id: str, options: str, transcript: Transcript | None
    ) -> list[Recording]:
        """Keep the answer to what was under way.

        Args:
            recording_id: Content id with the part.
            options: Fingerprint.
            transcript: None where it failed.

        Returns:
            Recordings of the same content that waited for it.
        """
        if transcript is not None:
            heard = {name: getattr(transcript, name) for name in HEARD}
            self._cache.put(recording_id, options, orjson.dumps(heard))
        with self._lock:
            return self._waiting.pop((recording_id, options), [])


def recall(known: Known, spec: ModelSpec, options: str) -> Transcript:
    """The transcript of a recording whose text is known.

    Args:
        known: With an answer of the cache.
        spec: The model that heard it.
        options: Fingerprint.
    """
    heard = orjson.loads(known.answer or b"{}")
    segments = tuple(map(_to_segment, heard.pop("segments")))
    return Transcript(
        **heard | {"flags": tuple(heard["flags"])},
        **whose(known.recording),
        segments=segments,
        id=known.recording_id,
        model=spec.name,
        engine=spec.engine,
        options=options,
        rtf=0.0,
    )


def _to_segment(row: dict[str, Any]) -> TranscriptSegment:
    words = row["words"]
    words = None if words is None else tuple(TranscriptWord(**word) for word in words)
    return TranscriptSegment(**row | {"flags": tuple(row["flags"]), "words": words})


def rename(transcript: Transcript, recording: Recording) -> Transcript:
    """The transcript of another file of the same content."""
    return replace(transcript, **whose(recording), rtf=0.0)
