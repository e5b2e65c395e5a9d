"""A run: keeps the engine's queue full, puts the answers together, writes what is finished."""

from __future__ import annotations

import queue
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import orjson

from asrbatch.data import SAMPLE_RATE, Failure, Transcript
from asrbatch.engines import load_engine, resolve_model
from asrbatch.errors import ConfigError, SegmentError
from asrbatch.identity import options_fingerprint
from asrbatch.jsonl import write_atomically
from asrbatch.ledger import Ledger, summary_path
from asrbatch.pipeline.assembly import Assembly
from asrbatch.pipeline.frontend import Closed, Failed, FrontEnd, Opened, Ready, Skipped, failure_of
from asrbatch.pipeline.prepare import Prepared, prepare, scan_inputs
from asrbatch.pipeline.stats import RunStats

if TYPE_CHECKING:
    import os
    from collections.abc import Generator, Iterator

    from asrbatch.data import Hypothesis, Recording, Source
    from asrbatch.engines import Engine
    from asrbatch.pipeline.config import RunConfig
from asrbatch.pipeline.frontend import Message

POLL_S = 0.1
"""How long an idle engine waits for the front end before it looks whether to stop."""


class Run:
    """Transcribes what the configuration names; iterate over it once.

    The iterator gives a `Transcript` or a `Failure` for each recording as soon as it is
    finished and written. Closing the iterator, or `stop`, ends the run; finished work is kept.
    """

    def __init__(self, config: RunConfig) -> None:
        """Check what can be checked before anything is loaded.

        Raises:
            ConfigError: There is nothing to transcribe, or the model or the engine is not there.
        """
        self.config = config
        self.stats = RunStats()
        self._sources = scan_inputs(config, self.stats)
        self._keys = frozenset(source.key for source in self._sources)
        self.spec = resolve_model(config.engine)
        for language in self._languages():
            self.spec.check_language(language)
        self.stats.model, self.stats.engine = self.spec.name, self.spec.engine
        self._ledger: Ledger | None = None
        self._attempts: dict[str, int] = {}
        self._stop_reason: str | None = None
        self._assemblies: dict[str, Assembly] = {}
        self._fingerprints: dict[tuple[str | None, str | None], str] = {}

    def stop(self, reason: str) -> None:
        """End the run after the step under way; safe to call from a signal handler."""
        self._stop_reason = reason

    def _stopping(self) -> bool:
        return self._stop_reason is not None

    def __iter__(self) -> Generator[Transcript | Failure]:
        """Work.

        Raises:
            ConfigError: The model does not know the language, or `out` holds something else.
            LockedError: Another run writes to the same results.
            EngineError: The engine cannot start or go on.
            OutputError: The results cannot be written.
        """
        reason = "error"
        try:
            for item in self._work(self._prepare()):
                yield item
                if isinstance(item, Failure) and self.config.fail_fast:
                    self.stop("fail-fast")
            reason = self._stop_reason or "done"
        except GeneratorExit:
            reason = "closed"
            raise
        finally:
            self._finish(reason)

    def _prepare(self) -> Prepared:
        config = self.config
        if config.out is not None:
            self._ledger = Ledger(config.out, overwrite=config.overwrite)
        prepared = prepare(self._sources, config, self.stats, self._is_done)
        self.stats.skipped = len(prepared.skipped)
        self.stats.planned_files = len(prepared.recordings) + len(prepared.failures)
        self.stats.planned_samples = prepared.plan.num_samples
        return prepared

    def _is_done(self, source: Source, stat: os.stat_result) -> bool:
        return self._ledger is not None and self._ledger.is_done(
            source, stat.st_size, stat.st_mtime_ns, self._fingerprint(source)
        )

    def _fingerprint(self, source: Source) -> str:
        own = (source.language, source.context)
        if own not in self._fingerprints:
            options = self.config.text_options(self.spec, source)
            self._fingerprints[own] = options_fingerprint(options)
        return self._fingerprints[own]

    def _work(self, prepared: Prepared) -> Iterator[Transcript | Failure]:
        if not prepared.recordings:
            yield from self._begin(prepared)
            return
        order = (prepared.recordings[i] for i in prepared.plan.recording_order())
        self.stats.work_started = time.perf_counter()
        front_end = FrontEnd(order, self.config, self._is_content_done)
        engine: Engine | None = None
        try:
            with self.stats.clock("load"):
                engine = load_engine(self.spec, self.config.engine)
                self._check_engine(engine)
            self.stats.work_started = time.perf_counter()
            yield from self._begin(prepared)
            yield from self._feed(front_end, engine)
        finally:
            front_end.close()
            if engine is not None:
                engine.close()

    def _begin(self, prepared: Prepared) -> Iterator[Failure]:
        """Touch the results for the first time: nothing can be wrong with the options any more."""
        if self._ledger is not None:
            self._attempts = self._ledger.begin(self._keys)
        for failure in prepared.failures:
            yield self._fail(failure)

    def _languages(self) -> list[str]:
        languages = {source.language or self.config.language for source in self._sources}
        return sorted(language for language in languages if language)

    def _check_engine(self, engine: Engine) -> None:
        longest = engine.max_segment_samples
        if longest is not None and self.config.chunk_samples > longest:
            msg = (
                f"chunk seconds: {self.config.chunk_seconds:g} is more than {self.spec.name} "
                f"hears; give at most {longest / SAMPLE_RATE:g}"
            )
            raise ConfigError(msg)
        spec = replace(self.spec, languages=engine.languages)
        for language in self._languages():
            spec.check_language(language)

    def _is_content_done(self, recording: Recording, recording_id: str) -> bool:
        return self._ledger is not None and self._ledger.is_content_done(
            recording_id, self._fingerprint(recording.source), recording.source, self._keys
        )

    def _feed(self, front_end: FrontEnd, engine: Engine) -> Iterator[Transcript | Failure]:
        """The rolling queue: fill up, step, collect; no barrier from the first to the last."""
        more = True
        while (more or engine.outstanding) and not self._stopping():
            while more and engine.outstanding < engine.capacity:
                idle_since = time.perf_counter()
                try:
                    message = front_end.get(None if engine.outstanding else POLL_S)
                except queue.Empty:
                    if engine.outstanding:
                        break
                    self.stats.starved_s += time.perf_counter() - idle_since
                    if self._stopping():
                        return
                    continue
                if not engine.outstanding:
                    self.stats.starved_s += time.perf_counter() - idle_since
                if message is None:
                    more = False
                    break
                yield from self._take(message, engine)
            with self.stats.clock("engine"):
                hypotheses = engine.step()
            for hypothesis in hypotheses:
                yield from self._collect(hypothesis)

    def _take(self, message: Message, engine: Engine) -> Iterator[Transcript | Failure]:
        key = (
            message.segment.recording_id
            if isinstance(message, Ready)
            else message.recording.source.key
        )
        match message:
            case Opened():
                self._assemblies[key] = Assembly(
                    message.recording, message.recording_id, message.opened_at
                )
            case Ready() if key in self._assemblies:
                yield from self._submit(self._assemblies[key], message, engine)
            case Closed() if key in self._assemblies:
                self.stats.wall_s["decode"] += message.decode_s
                self._assemblies[key].closed = message
                yield from self._finish_recording(self._assemblies[key])
            case Skipped():
                self.stats.skipped += 1
                self.stats.planned_files -= 1
                self.stats.planned_samples -= message.recording.num_samples or 0
            case Failed():
                self._assemblies.pop(key, None)
                self.stats.planned_samples -= message.recording.num_samples or 0
                yield self._fail(message.failure)

    def _submit(
        self, assembly: Assembly, ready: Ready, engine: Engine
    ) -> Iterator[Transcript | Failure]:
        assembly.segments.append(ready.segment)
        try:
            with self.stats.clock("engine"):
                engine.submit(ready.segment, ready.waveform)
        except SegmentError as error:
            # What else of the recording is under way is answered and then ignored.
            del self._assemblies[ready.segment.recording_id]
            yield self._fail(failure_of(assembly.recording, error))

    def _collect(self, hypothesis: Hypothesis) -> Iterator[Transcript | Failure]:
        assembly = self._assemblies.get(hypothesis.recording_id)
        if assembly is None:
            return
        assembly.hypotheses[hypothesis.index] = hypothesis
        self.stats.segments += 1
        self.stats.tokens += len(hypothesis.tokens)
        self.stats.engine_samples += assembly.segments[hypothesis.index].num_samples
        yield from self._finish_recording(assembly)

    def _finish_recording(self, assembly: Assembly) -> Iterator[Transcript]:
        if not assembly.finished:
            return
        del self._assemblies[assembly.recording.source.key]
        options = self._fingerprint(assembly.recording.source)
        # What was opened while the model was loading must not be charged for it.
        since = max(assembly.opened_at, self.stats.work_started or 0.0)
        transcript = assembly.to_transcript(self.spec, options, time.perf_counter() - since)
        with self.stats.clock("write"):
            if self._ledger is not None:
                self._ledger.write(transcript)
        self.stats.add_done(transcript)
        yield transcript

    def _fail(self, failure: Failure) -> Failure:
        failure = replace(failure, attempts=self._attempts.get(failure.path, 0) + 1)
        if self._ledger is not None:
            self._ledger.fail(failure)
        self.stats.add_failure(failure)
        return failure

    def _finish(self, reason: str) -> None:
        self.stats.stop_clocks()
        self.stats.exit_reason = reason
        if self._ledger is None:
            return
        ledger, self._ledger = self._ledger, None
        try:
            summary = orjson.dumps(self.stats.summary(), option=orjson.OPT_INDENT_2)
            write_atomically(summary_path(ledger.out), [summary, b"\n"])
        finally:
            ledger.close()
