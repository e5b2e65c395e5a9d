"""A worker process: decodes, cuts and computes features, so that a crashing codec costs one file.

Started by `asrbatch.pipeline.workers` with two descriptors: of a socket, over which jobs come and
replies go as pickles, and of the arena, into which it writes what the engine takes.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import deque
from dataclasses import replace
from importlib import import_module
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

import numpy as np

from asrbatch.arena import Arena, Region
from asrbatch.channels import find_echoes
from asrbatch.cut import Span, cut, split
from asrbatch.data import Failure, FeatureSpan
from asrbatch.decode import decode
from asrbatch.errors import RecordingError
from asrbatch.feature_file import read_features, writing
from asrbatch.identity import content_id
from asrbatch.mel import input_shape, write_input
from asrbatch.pipeline.jobs import (
    Again,
    Decode,
    Decoded,
    Identified,
    Identify,
    Probe,
    Probed,
    Produced,
    Refused,
)
from asrbatch.probe import probe
from asrbatch.speech import listen, mark_speech

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asrbatch.arena import Slot
    from asrbatch.data import AudioInfo, Features, FeatureSet, Source, Waveform
    from asrbatch.decode import AudioStream
    from asrbatch.feature_file import FeatureWriter
    from asrbatch.pipeline.jobs import Job, Reply, WorkerSettings

logger = logging.getLogger(__name__)

FLUSH_S = 0.005
"""Replies of one job are sent together unless the first of them is older."""

REFILL_SHARE = 0.25
"""Of its region that a worker waits for once it is full: it works in bursts, and leaves the cores
to the engine in between."""

MIN_POLL_S, MAX_POLL_S = 0.002, 0.05
"""How often a worker without room looks whether there is some: ever less often, since each look
interrupts an engine that computes on the same cores, and a full region is not empty so soon."""


class Worker:
    """Does jobs in the order in which they come."""

    def __init__(self, connection: Connection, arena: Arena, settings: WorkerSettings) -> None:
        self._connection = connection
        self._arena = arena
        self._settings = settings
        self._region = Region(arena, *settings.region, settings.held)
        self._jobs: deque[Job] = deque()
        self._replies: list[Reply] = []
        self._oldest_reply = 0.0
        self._waited_s = 0.0
        """For room, so far."""

    def run(self) -> None:
        """Work until the main process closes the connection."""
        self._send([])  # says that it has begun
        while True:
            if not self._jobs:
                self._receive()
            for reply in self._answer(self._jobs.popleft()):
                self._reply(reply)
            # Before the next job begins: who crashes is known by what was not answered.
            self._flush()

    def _answer(self, job: Job) -> Iterator[Reply]:
        if isinstance(job, Probe):
            infos = (_probe(source, self._settings) for source in job.sources)
            yield Probed(job.first, tuple(infos))
            return
        stage = "identify" if isinstance(job, Identify) else "decode"
        try:
            match job:
                case Identify(index, recording):
                    source = recording.source
                    yield Identified(index, content_id(source.path) + source.part)
                case Again():
                    yield from self._repeat(job)
                case Decode():
                    yield from self._decode(job)
        except RecordingError as error:
            yield Refused(job.index, failure_of(job.recording.source, error))
        except Exception as error:  # whatever it is, it costs this recording only
            logger.debug("while decoding %s", job.recording.source.path, exc_info=True)
            message = str(error) or type(error).__name__
            failure = Failure(job.recording.source.key, stage, type(error).__name__, message)
            yield Refused(job.index, failure)

    def _decode(self, job: Decode) -> Iterator[Reply]:
        stored = read_features(job.features) if job.features else None
        if stored is not None:
            yield from self._replay(job, stored)
            return
        with writing(job.features, self._settings.max_feature_bytes) as file:
            yield from self._compute(job, file)

    def _compute(self, job: Decode, file: FeatureWriter | None) -> Iterator[Reply]:
        start_s, waited_s = time.perf_counter(), self._waited_s
        flags: set[str] = set()
        echoes: frozenset[int] = frozenset()
        if len(job.channels) > 1:
            echoes = find_echoes([self._stream(job, channel) for channel in job.channels])
            flags.update(["echo_channel"] if echoes else [])
        index = num_samples = 0
        for number, channel in enumerate(job.channels):
            if number in echoes:
                continue
            stream = self._stream(job, channel)
            for slot, span in self._spans(stream, channel if len(job.channels) > 1 else None):
                if file is not None:
                    file.add(span)
                yield Produced(job.index, job.segment(index, span), slot)
                index += 1
            flags.update(stream.flags)
            num_samples = max(num_samples, stream.num_samples)
        found = tuple(sorted(flags))
        num_bytes = 0 if file is None else file.commit(found, num_samples)
        error = "" if file is None else file.error
        busy_s = time.perf_counter() - start_s - (self._waited_s - waited_s)
        yield Decoded(job.index, found, num_samples, busy_s, False, num_bytes, error)

    def _stream(self, job: Decode, channel: int | None) -> AudioStream:
        source = replace(job.recording.source, channel=channel)
        return decode(source, job.recording.info, self._settings.raw_format)

    def _spans(
        self, stream: AudioStream, channel: int | None
    ) -> Iterator[tuple[Slot, FeatureSpan]]:
        """Cut a stream, and compute what the engine takes."""
        blocks = listen(stream, self._settings.speech)
        for piece in cut(blocks, self._settings.chunk_samples):
            slot, audio = self._place(piece.waveform)
            span = FeatureSpan(
                *(piece.start_sample, len(piece.waveform), piece.cut, audio),
                *(piece.speech_samples, channel),
            )
            yield slot, span

    def _place(self, waveform: Waveform) -> tuple[Slot, Waveform | Features]:
        """Compute what the engine takes right to where it will read it."""
        slot = self._allocate(input_shape(len(waveform), self._settings.mel))
        audio = self._arena.write(slot)
        write_input(waveform, self._settings.mel, audio)
        return slot, audio

    def _repeat(self, job: Again) -> Iterator[Reply]:
        segment, recording = job.segment, job.recording
        source = recording.source
        source = replace(
            source,
            start_sample=segment.start_sample,
            num_samples=segment.num_samples,
            channel=source.channel if segment.channel is None else segment.channel,
        )
        stream = decode(source, recording.info, self._settings.raw_format)
        waveform = np.concatenate(list(stream))
        spans: tuple[Span, ...] = (Span(0, waveform, segment.cut, segment.speech_samples),)
        if job.is_split:
            speech = self._settings.speech
            spans = split(waveform, None if speech is None else mark_speech(waveform, speech))
        for number, span in enumerate(spans):
            slot, _ = self._place(span.waveform)
            piece = replace(
                segment,
                index=segment.index - number,
                start_sample=segment.start_sample + span.start_sample,
                num_samples=len(span.waveform),
                cut=segment.cut if span is spans[-1] else span.cut,
                speech_samples=span.speech_samples,
            )
            yield Produced(job.index, piece, slot)
        yield Decoded(job.index, (), stream.num_samples, 0.0, recalled=False)

    def _replay(self, job: Decode, stored: FeatureSet) -> Iterator[Reply]:
        for index, span in enumerate(stored.spans):
            slot = self._allocate(span.audio.shape)
            self._arena.write(slot)[:] = span.audio
            yield Produced(job.index, job.segment(index, span), slot)
        yield Decoded(job.index, stored.flags, stored.num_samples, 0.0, recalled=True)

    def _allocate(self, shape: tuple[int, ...]) -> Slot:
        """Make room; where there is none, wait until the engine has left a good part of it."""
        if (slot := self._region.allocate(shape)) is not None:
            return slot
        self._flush()
        start_s = time.perf_counter()
        self._arena.say_waiting(self._settings.place, waits=True)
        poll_s, num_bursts = MIN_POLL_S, self._arena.num_bursts
        while not self._may_go_on(num_bursts) or not (slot := self._region.allocate(shape)):
            if self._connection.poll(poll_s):
                self._receive()
            poll_s = min(2 * poll_s, MAX_POLL_S)
        if num_bursts == self._arena.num_bursts:
            self._arena.begin_burst()
        self._arena.say_waiting(self._settings.place, waits=False)
        self._waited_s += time.perf_counter() - start_s
        return slot

    def _may_go_on(self, num_bursts: int) -> bool:
        """Whether there is room for a burst of work, or another worker has begun one."""
        return num_bursts != self._arena.num_bursts or self._region.has_room(REFILL_SHARE)

    def _receive(self) -> None:
        try:
            self._jobs += self._connection.recv()
        except (EOFError, ConnectionError):
            raise SystemExit from None  # the main process has ended, or wants no more

    def _reply(self, reply: Reply) -> None:
        now = time.monotonic()
        if not self._replies:
            self._oldest_reply = now
        self._replies.append(reply)
        if now - self._oldest_reply > FLUSH_S:
            self._flush()

    def _flush(self) -> None:
        if self._replies:
            self._send(self._replies)
            self._replies = []

    def _send(self, replies: list[Reply]) -> None:
        try:
            self._connection.send(replies)
        except ConnectionError:
            raise SystemExit from None


def failure_of(source: Source, error: RecordingError) -> Failure:
    """The failure line of an error."""
    return Failure(source.key, error.stage, type(error).__name__, str(error))


def _probe(source: Source, settings: WorkerSettings) -> AudioInfo | Failure:
    try:
        return probe(source.path, settings.raw_format)
    except RecordingError as error:
        return failure_of(source, error)


def main() -> None:
    """Serve the descriptors named on the command line."""
    connection = Connection(int(sys.argv[1]))
    try:
        settings: WorkerSettings = connection.recv()
    except (EOFError, ConnectionError):
        return
    # Now, so that the first file is not charged for it.
    for name in ("scipy.fft", "soundfile", "soxr", *(("onnxruntime",) if settings.speech else ())):
        import_module(name)
    Worker(connection, Arena(settings.arena_bytes, int(sys.argv[2])), settings).run()
