"""Puts the answers together and writes what is finished."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from asrbatch.data import Failure, Hypothesis, Recording, Transcript
from asrbatch.errors import SegmentError
from asrbatch.pipeline.assembly import Assembly
from asrbatch.pipeline.judge import recall, rename
from asrbatch.pipeline.messages import Closed, Failed, Known, Opened, Ready, Unheard
from asrbatch.pipeline.review import Review
from asrbatch.pipeline.worker import failure_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from asrbatch.data import Segment, Source
    from asrbatch.engines import Engine, ModelSpec
    from asrbatch.ledger import Ledger
    from asrbatch.pipeline.config import RunConfig
    from asrbatch.pipeline.frontend import FrontEnd
    from asrbatch.pipeline.judge import Judge
    from asrbatch.pipeline.messages import Message
    from asrbatch.pipeline.stats import RunStats

    Observer: TypeAlias = Callable[[Segment, Hypothesis], object]


class Collector:
    """Follows each recording from its first segment to its line."""

    def __init__(
        self,
        spec: ModelSpec,
        stats: RunStats,
        judge: Judge,
        fingerprint: Callable[[Source], str],
        observe: Observer | None,
        config: RunConfig,
    ) -> None:
        """Begin with nothing under way.

        Args:
            spec: The model that hears.
            stats: Its clocks and counts.
            judge: To be told what was heard.
            fingerprint: Of everything that can change the text of a source.
            observe: Called with each segment and its hypothesis.
            config: How often a doubtful segment may be heard again, and which times are wanted.
        """
        self._spec = spec
        self._stats = stats
        self._judge = judge
        self._fingerprint = fingerprint
        self._observe = observe
        self._config = config
        self._front_end: FrontEnd | None = None
        self._ledger: Ledger | None = None
        self._keys: frozenset[str] = frozenset()
        self._attempts: dict[str, int] | None = None
        self._assemblies: dict[str, Assembly] = {}

    def write_to(self, ledger: Ledger, keys: frozenset[str]) -> None:
        """Keep what is finished.

        Args:
            ledger: Where; not touched yet.
            keys: Of all recordings of this run.
        """
        self._ledger, self._keys = ledger, keys

    def ask_again_of(self, front_end: FrontEnd) -> None:
        """Have doubtful segments decoded once more by it."""
        self._front_end = front_end

    def begin(self) -> None:
        """Touch the results for the first time, if that has not been done."""
        if self._attempts is None:
            self._attempts = {} if self._ledger is None else self._ledger.begin(self._keys)

    def take(
        self, event: Message | Hypothesis | Failure, engine: Engine | None
    ) -> Iterator[Transcript | Failure]:
        """Note what happened.

        Args:
            event: Of the front end, the engine, or the probe.
            engine: To hand segments to.

        Yields:
            What was finished and written.
        """
        match event:
            case Opened(recording, recording_id, opened_at):
                assembly = Assembly(recording, recording_id, opened_at)
                self._assemblies[recording.source.key] = assembly
            case Ready() if engine is not None:
                yield from self._submit(event, engine)
            case Hypothesis():
                yield from self._collect(event)
            case Closed():
                yield from self._close(event)
            case Known():
                yield from self._recall(event)
            case Failed(recording, failure):
                yield from self._give_up(recording, failure)
            case Unheard(recording, segment):
                yield from self._do_without(recording.source.key, segment)
            case Failure():
                yield self._fail(event)

    def _submit(self, ready: Ready, engine: Engine) -> Iterator[Transcript | Failure]:
        segment = ready.segment
        assembly = self._assemblies.get(segment.recording_id)
        if assembly is None:
            return  # an earlier segment of it was refused
        if assembly.review is None:
            assembly.segments.append(segment)
        elif not assembly.review.add_piece(segment):
            return
        try:
            with self._stats.clock("engine"):
                engine.submit(segment, ready.audio)
        except SegmentError as error:
            if assembly.review is not None:
                yield from self._do_without(segment.recording_id, segment)
                return
            # What else of the recording is under way is answered and then ignored.
            recording = assembly.recording
            yield from self._give_up(recording, failure_of(recording.source, error))

    def _collect(self, hypothesis: Hypothesis) -> Iterator[Transcript]:
        assembly = self._assemblies.get(hypothesis.recording_id)
        if assembly is None:
            return
        self._stats.tokens += len(hypothesis.tokens)
        if assembly.review is not None:
            assembly.review.add_answer(hypothesis)
        else:
            assembly.hypotheses[hypothesis.index] = hypothesis
            segment = assembly.segments[hypothesis.index]
            self._stats.segments += 1
            self._stats.engine_samples += segment.num_samples
            if self._observe is not None:
                self._observe(segment, hypothesis)
        yield from self._finish(assembly)

    def _do_without(self, key: str, segment: Segment) -> Iterator[Transcript]:
        """Keep what was heard first, since a segment cannot be heard again."""
        assembly = self._assemblies.get(key)
        if assembly is not None and assembly.review is not None:
            assembly.review.give_up(segment.index)
            yield from self._finish(assembly)

    def _close(self, closed: Closed) -> Iterator[Transcript]:
        self._stats.wall_s["decode"] += closed.decode_s
        if closed.tier is not None:
            self._stats.features[closed.tier] += 1
        assembly = self._assemblies.get(closed.recording.source.key)
        if assembly is not None:
            assembly.closed = closed
            yield from self._finish(assembly)

    def _finish(self, assembly: Assembly) -> Iterator[Transcript]:
        if not assembly.is_answered or self._is_in_doubt(assembly):
            return
        source = assembly.recording.source
        del self._assemblies[source.key]
        # What was opened while the model was loading must not be charged for it.
        since = max(assembly.opened_at, self._stats.work_started or 0.0)
        options = self._fingerprint(source)
        transcript = assembly.to_transcript(self._spec, options, time.perf_counter() - since)
        if self._config.timestamps == "none":
            transcript = replace(transcript, segments=())
        yield self._write(transcript)
        for copy in self._judge.settle(assembly.recording_id, options, transcript):
            self._count_recalled(copy)
            yield self._write(rename(transcript, copy))

    def _is_in_doubt(self, assembly: Assembly) -> bool:
        """Have heard again what is doubtful; False where that is done, or all is well."""
        if assembly.review is None:
            is_judged = self._spec.engine != "null"
            assembly.review = Review(
                assembly.answers, self._config.max_retries, is_judged=is_judged
            )
        review = assembly.review
        if not review.is_waiting and self._front_end is not None:
            for request in review.ask():
                self._stats.retries += 1
                self._front_end.hear_again(
                    assembly.recording, request.segment, is_split=request.is_split
                )
        return review.is_waiting

    def _recall(self, known: Known) -> Iterator[Transcript]:
        recording = known.recording
        if known.answer is None:
            self._stats.skipped += 1
            self._stats.planned_files -= 1
            self._stats.planned_samples -= recording.num_samples or 0
            return
        self._count_recalled(recording)
        options = self._fingerprint(recording.source)
        yield self._write(recall(known, self._spec, options))

    def _count_recalled(self, recording: Recording) -> None:
        self._stats.recalled += 1
        self._stats.planned_samples -= recording.num_samples or 0  # the engine does not hear it

    def _give_up(self, recording: Recording, failure: Failure) -> Iterator[Failure]:
        assembly = self._assemblies.pop(recording.source.key, None)
        copies = []
        if assembly is not None:
            options = self._fingerprint(recording.source)
            copies = self._judge.settle(assembly.recording_id, options, None)
        for each in (recording, *copies):
            self._stats.planned_samples -= each.num_samples or 0
            yield self._fail(replace(failure, path=each.source.key))

    def _write(self, transcript: Transcript) -> Transcript:
        self.begin()
        with self._stats.clock("write"):
            if self._ledger is not None:
                self._ledger.write(transcript)
        self._stats.add_done(transcript)
        return transcript

    def _fail(self, failure: Failure) -> Failure:
        self.begin()
        attempts = (self._attempts or {}).get(failure.path, 0) + 1
        failure = replace(failure, attempts=attempts)
        if self._ledger is not None:
            self._ledger.fail(failure)
        self._stats.add_failure(failure)
        return failure
