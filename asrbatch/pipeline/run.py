"""A run: keeps the engine's queue full, puts the answers together, writes what is finished."""

from __future__ import annotations

import queue
import time
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import TYPE_CHECKING

import orjson

from asrbatch.data import SAMPLE_RATE, Failure, Hypothesis, Transcript
from asrbatch.engines import load_engine, resolve_model
from asrbatch.errors import ConfigError
from asrbatch.feature_store import open_store
from asrbatch.identity import options_fingerprint
from asrbatch.jsonl import write_atomically
from asrbatch.ledger import Ledger, summary_path
from asrbatch.machine import paused_gc
from asrbatch.pipeline.collect import Collector
from asrbatch.pipeline.feed import POLL_S, feed
from asrbatch.pipeline.frontend import FrontEnd
from asrbatch.pipeline.judge import Judge
from asrbatch.pipeline.messages import Ready
from asrbatch.pipeline.pool import open_pool
from asrbatch.pipeline.prepare import leave_out_done, prepare, scan_inputs
from asrbatch.pipeline.stats import RunStats
from asrbatch.result_cache import ResultCache, cache_path
from asrbatch.sessions import collect_rows, find_sessions, stitch_session

if TYPE_CHECKING:
    import os
    from collections.abc import Generator, Iterator

    from asrbatch.data import Source
    from asrbatch.engines import Engine
    from asrbatch.feature_store import FeatureStore
    from asrbatch.pipeline.collect import Observer
    from asrbatch.pipeline.config import RunConfig
    from asrbatch.pipeline.messages import Message


class Run:
    """Transcribes what the configuration names; iterate over it once.

    The iterator gives a `Transcript` or a `Failure` for each recording as soon as it is
    finished and written. Closing the iterator, or `stop`, ends the run; finished work is kept.
    """

    def __init__(
        self, config: RunConfig, engine: Engine | None = None, observe: Observer | None = None
    ) -> None:
        """Check what can be checked before anything is loaded.

        Args:
            config: What to do.
            engine: One that is loaded already, and stays so; else it is loaded where the model
                must hear something.
            observe: Called with each segment and its hypothesis.

        Raises:
            ConfigError: There is nothing to transcribe, or the model or the engine is not there.
        """
        self.config = config
        self.stats = RunStats()
        with paused_gc():
            self._sources = scan_inputs(config, self.stats)
        self.spec = resolve_model(config.engine)
        for language in self._languages():
            self.spec.check_language(language)
        self.stats.model, self.stats.engine = self.spec.name, self.spec.engine
        self._engine = engine
        self._observe = observe
        self._ledger: Ledger | None = None
        self._stop_reason: str | None = None
        self._fingerprints: dict[tuple[str | None, str | None], str] = {}

    def stop(self, reason: str) -> None:
        """End the run after the step under way; safe to call from a signal handler."""
        self._stop_reason = reason

    def _is_stopping(self) -> bool:
        return self._stop_reason is not None

    def __iter__(self) -> Generator[Transcript | Failure]:
        """Work.

        Raises:
            ConfigError: The model does not know the language, or `out` holds something else.
            LockedError: Another run writes to the same results.
            EngineError: The engine cannot start or go on.
            WorkerError: The worker processes cannot start.
            OutputError: The results cannot be written.
        """
        reason = "error"
        try:
            for item in self._work():
                yield item
                if isinstance(item, Failure) and self.config.fail_fast:
                    self.stop("fail-fast")
            reason = self._stop_reason or "done"
        except GeneratorExit:
            reason = "closed"
            raise
        finally:
            self._finish(reason)

    def _work(self) -> Iterator[Transcript | Failure]:
        config = self.config
        with paused_gc():
            if config.out is not None:
                self._ledger = Ledger(config.out, overwrite=config.overwrite)
                self._sources = self._ledger.tell_apart(self._sources)
            keys = frozenset(source.key for source in self._sources)
            todo = leave_out_done(self._sources, self._is_done, self.stats)
        if not todo:
            if self._ledger is not None:
                self._ledger.begin(keys)
            return
        is_shared = config.cache and self.spec.engine != "null"
        with ExitStack() as stack:
            cache = stack.enter_context(closing(ResultCache(cache_path() if is_shared else None)))
            judge = Judge(self._ledger, cache, keys, self._fingerprint)
            collector = Collector(
                *(self.spec, self.stats, judge, self._fingerprint, self._observe),
                config,
            )
            if self._ledger is not None:
                collector.write_to(self._ledger, keys)
            pool = stack.enter_context(open_pool(config, self.spec))
            self.stats.num_workers = pool.num_workers
            prepared = prepare(todo, config, self.stats, pool, self._is_stopping)
            order = (prepared.recordings[i] for i in prepared.plan.recording_order())
            self.stats.work_started = time.perf_counter()
            front_end = stack.enter_context(
                closing(FrontEnd(order, config, pool, judge, _store(config)))
            )
            collector.ask_again_of(front_end)
            for event in self._events(front_end, prepared.failures, stack):
                yield from collector.take(event, self._engine)
            collector.begin()

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

    def _events(
        self, front_end: FrontEnd, failures: list[Failure], stack: ExitStack
    ) -> Iterator[Message | Hypothesis | Failure]:
        """Everything that happens, from the first file opened to the last segment answered."""
        first = yield from self._until_ready(front_end)
        if first and not self._is_stopping():
            self._load(stack)
        # Not before: nothing can be wrong with the options any more.
        yield from failures
        if first and self._engine is not None:
            yield first
            first = None  # or its room in the arena would never be free again
            # Where they share the cores, a worker that waits costs nothing, and all of them at
            # once hold the engine up for the shortest time.
            may_shrink = self.config.workers is None and not self._engine.shares_cores
            least = 1 if may_shrink else self.stats.num_workers
            yield from feed(front_end, self._engine, self.stats, self._is_stopping, least)

    def _until_ready(self, front_end: FrontEnd) -> Generator[Message, None, Ready | None]:
        """What happens before the first segment, which is returned; None where there is none."""
        while not self._is_stopping():
            try:
                message = front_end.get(POLL_S)
            except queue.Empty:
                continue
            if message is None or isinstance(message, Ready):
                return message
            yield message
        return None

    def _load(self, stack: ExitStack) -> None:
        """Load the engine, now that the model must hear something."""
        if self._engine is None:
            with self.stats.clock("load"):
                self._engine = load_engine(self.spec, self.config.engine)
            stack.callback(self._engine.close)
        engine = self._engine
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

    def _languages(self) -> list[str]:
        languages = {source.language or self.config.language for source in self._sources}
        return sorted(language for language in languages if language)

    def _finish(self, reason: str) -> None:
        self.stats.stop_clocks()
        self.stats.exit_reason = reason
        if self._ledger is None:
            return
        ledger, self._ledger = self._ledger, None
        try:
            summary = orjson.dumps(self.stats.summary(), option=orjson.OPT_INDENT_2)
            write_atomically(summary_path(ledger.out), [summary, b"\n"])
            sessions = find_sessions(self._sources)
            if sessions:
                collect_rows(sessions, ledger.rows())
                ledger.write_sessions(filter(None, map(stitch_session, sessions)))
        finally:
            ledger.close()


def _store(config: RunConfig) -> FeatureStore | None:
    """Features of other runs; None where none are kept."""
    if config.feature_cache is None:
        return None
    memory_bytes = round(config.feature_memory_gb * 10**9)
    return open_store(config.feature_cache.resolve(), config.max_feature_bytes, memory_bytes)
