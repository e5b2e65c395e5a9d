"""What people see on standard error: progress, log lines, and the tables at the end."""

from __future__ import annotations

import logging
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from asrbatch.data import SAMPLE_RATE, Failure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from asrbatch.data import Transcript
    from asrbatch.pipeline import Prepared, RunStats

logger = logging.getLogger("asrbatch")

LOG_INTERVAL_S = 30.0

NUM_FAILURES_SHOWN = 10


class Reporter(Protocol):
    """Shows a run while it goes on."""

    def show(self, stats: RunStats, item: Transcript | Failure) -> None:
        """Show one more finished or failed recording."""


@contextmanager
def reporter(stderr: Console, *, progress: bool) -> Iterator[Reporter]:
    """A progress bar on a terminal, log lines elsewhere."""
    if not (progress and stderr.is_terminal):
        yield _LogReporter()
        return
    columns = (
        TextColumn("{task.fields[files]}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rates]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=stderr, transient=True) as bar:
        yield _BarReporter(bar)


class _LogReporter:
    def __init__(self) -> None:
        self._next = time.monotonic()

    def show(self, stats: RunStats, item: Transcript | Failure) -> None:
        if isinstance(item, Failure):
            logger.warning("failed %s", describe(item))
        else:
            logger.debug(
                "done %s, %.1f s, RTF %.3f", printable(item.path), item.duration_s, item.rtf
            )
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + LOG_INTERVAL_S
            logger.info("%s, %s", _files(stats), _rates(stats))


class _BarReporter:
    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=None, files="loading", rates="")

    def show(self, stats: RunStats, item: Transcript | Failure) -> None:
        if isinstance(item, Failure):
            logger.warning("failed %s", describe(item))
        self._bar.update(
            self._task,
            total=stats.planned_samples,
            completed=stats.done_samples,
            files=_files(stats),
            rates=_rates(stats),
        )


def _files(stats: RunStats) -> str:
    failed = f", {stats.failed} failed" if stats.failed else ""
    return f"{stats.done + stats.failed}/{stats.planned_files} files{failed}"


def _rates(stats: RunStats) -> str:
    now = time.perf_counter()
    work_s = now - stats.work_started if stats.work_started else 0.0
    rtfx = stats.audio_s / work_s if work_s else 0.0
    planned_h = stats.planned_samples / SAMPLE_RATE / 3600
    left_s = (planned_h * 3600 - stats.audio_s) / rtfx if rtfx else 0.0
    eta = f", {format_time(left_s)} left" if rtfx and left_s > 0 else ""
    return f"{stats.audio_s / 3600:.2f}/{planned_h:.2f} h audio, RTFx {rtfx:.1f}{eta}"


def format_time(seconds: float) -> str:
    """`1:02:03`, `2:03` or `3.2 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def run_table(stats: RunStats) -> Table:
    """The table at the end of a run."""
    table = _table(f"asrbatch: {stats.engine}, {stats.model}")
    table.add_row("files", f"{stats.done} done, {stats.failed} failed, {stats.skipped} skipped")
    table.add_row("audio", f"{stats.audio_s / 3600:.3f} h in {stats.segments} segments")
    table.add_row("wall time", format_time(stats.elapsed_s))
    for stage in ("scan", "probe", "plan", "load", "decode", "engine", "write"):
        if stats.wall_s[stage]:
            beside = " (beside the engine)" if stage == "decode" else ""
            table.add_row(f"  {stage}", format_time(stats.wall_s[stage]) + beside)
    if stats.rtfx and stats.engine_rtfx:
        table.add_row("RTF", f"{1 / stats.rtfx:.4f}")
        table.add_row("RTFx", f"{stats.rtfx:.1f} end to end, {stats.engine_rtfx:.1f} engine only")
        table.add_row("starved", format_time(stats.starved_s))
    for flag, count in sorted(stats.flags.items()):
        table.add_row(f"flagged {flag}", f"{count} files")
    for wall_s, path, duration_s in stats.slowest:
        table.add_row(
            "slowest", f"{format_time(wall_s)} for {format_time(duration_s)}: {printable(path)}"
        )
    for failure in stats.failures[:NUM_FAILURES_SHOWN]:
        table.add_row("failed", describe(failure))
    if len(stats.failures) > NUM_FAILURES_SHOWN:
        table.add_row("failed", f"and {len(stats.failures) - NUM_FAILURES_SHOWN} more")
    return table


def plan_table(prepared: Prepared, rtfx: float, rtfx_source: str) -> Table:
    """The table of `asrbatch scan`."""
    plan, recordings = prepared.plan, prepared.recordings
    audio_s = plan.num_samples / SAMPLE_RATE
    counts = plan.bucket_counts()
    table = _table("asrbatch scan")
    skipped = f", {len(prepared.skipped)} done before" if prepared.skipped else ""
    table.add_row("files", f"{len(recordings)} readable{skipped}")
    table.add_row("audio", f"{audio_s / 3600:.3f} h")
    table.add_row("codecs", _counted(Counter(r.info.codec for r in recordings)))
    table.add_row("rates", _counted(Counter(f"{r.info.sample_rate} Hz" for r in recordings)))
    unknown = sum(r.num_samples is None for r in recordings)
    if unknown:
        table.add_row("length unknown", f"{unknown} files, planned as one segment each")
    table.add_row("segments", f"at least {sum(counts.values())}")
    for bucket, (low_s, high_s) in plan.bucket_edges_s.items():
        table.add_row(f"  {low_s:.1f} to {high_s:.1f} s", str(counts[bucket]))
    table.add_row("batches", str(len(plan.batches)))
    table.add_row("padding ratio", f"{plan.padding_ratio:.3f}")
    table.add_row(
        "estimated time", f"{format_time(audio_s / rtfx)} at RTFx {rtfx:g} ({rtfx_source})"
    )
    for failure in prepared.failures:
        table.add_row("unreadable", describe(failure))
    return table


def describe(failure: Failure) -> str:
    """A failure on one line."""
    return printable(f"{failure.path}: {failure.error}: {failure.message}")


def printable(text: str) -> str:
    """Text in which nothing moves the cursor: file names may hold any character."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in counter.most_common())


def _table(title: str) -> Table:
    table = Table(title=title, show_header=False, title_justify="left")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table
