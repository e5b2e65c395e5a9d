"""What people see on standard error: progress, log lines, and the tables at the end."""

from __future__ import annotations

import logging
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table

from asrbatch.data import SAMPLE_RATE, Failure
from asrbatch.ticker import Ticker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from asrbatch.data import Transcript
    from asrbatch.pipeline import Prepared, RunStats

logger = logging.getLogger("asrbatch")

LOG_INTERVAL_S = 30.0
BAR_INTERVAL_S = 0.5

NUM_FAILURES_SHOWN = 10


@contextmanager
def reporter(
    stats: RunStats, stderr: Console, *, progress: bool
) -> Iterator[Callable[[Transcript | Failure], None]]:
    """Show a run while it goes on: a bar on a terminal, log lines elsewhere.

    Args:
        stats: Of the run; looked at regularly.
        stderr: Where people read.
        progress: Whether a bar is wanted at all.

    Yields:
        What to call with each finished or failed recording.
    """
    if not (progress and stderr.is_terminal):
        with Ticker(LOG_INTERVAL_S, lambda: logger.info("%s, %s", _files(stats), _rates(stats))):
            yield _log
        return
    columns = (
        TextColumn("{task.fields[files]}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rates]}"),
    )
    with Progress(*columns, console=stderr, transient=True) as bar:
        task = bar.add_task("", total=None, files="starting", rates="")

        def show() -> None:
            bar.update(
                task,
                total=stats.planned_samples,
                completed=stats.engine_samples,
                files=_files(stats),
                rates=_rates(stats),
            )

        with Ticker(BAR_INTERVAL_S, show):
            yield _log


def _log(item: Transcript | Failure) -> None:
    if isinstance(item, Failure):
        logger.warning("failed %s", describe(item))
    else:
        logger.debug("done %s, %.1f s, RTF %.3f", printable(item.path), item.duration_s, item.rtf)


def _files(stats: RunStats) -> str:
    failed = f", {stats.failed} failed" if stats.failed else ""
    return f"{stats.done + stats.failed}/{stats.planned_files} files{failed}"


def _rates(stats: RunStats) -> str:
    now = time.perf_counter()
    work_s = now - stats.work_started if stats.work_started else 0.0
    heard_s, planned_s = stats.engine_samples / SAMPLE_RATE, stats.planned_samples / SAMPLE_RATE
    rtfx = heard_s / work_s if work_s else 0.0
    left_s = (planned_s - heard_s) / rtfx if rtfx else 0.0
    eta = f", {format_time(left_s)} left" if left_s > 0 else ""
    return f"{heard_s / 3600:.2f}/{planned_s / 3600:.2f} h audio, RTFx {rtfx:.1f}{eta}"


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
    known = f" ({stats.recalled} known from others)" if stats.recalled else ""
    table.add_row(
        "files", f"{stats.done} done{known}, {stats.failed} failed, {stats.skipped} skipped"
    )
    table.add_row("audio", f"{stats.audio_s / 3600:.3f} h in {stats.segments} segments")
    if stats.skipped_s:
        share = stats.skipped_s / stats.audio_s
        table.add_row("no speech", f"{stats.skipped_s / 3600:.3f} h left out, {share:.0%}")
    table.add_row("wall time", format_time(stats.elapsed_s))
    for stage in ("scan", "probe", "plan", "load", "decode", "engine", "write"):
        if stats.wall_s[stage]:
            beside = " (beside the engine)" if stage == "decode" else ""
            table.add_row(f"  {stage}", format_time(stats.wall_s[stage]) + beside)
    if stats.rtfx and stats.engine_rtfx:
        table.add_row("RTF", f"{1 / stats.rtfx:.4f}")
        table.add_row("RTFx", f"{stats.rtfx:.1f} end to end, {stats.engine_rtfx:.1f} engine only")
        table.add_row("starved", format_time(stats.starved_s))
        how = f", {_times(stats.retunings)} changed by the run" if stats.retunings else ""
        table.add_row("workers", f"{stats.num_workers}, {stats.outstanding} outstanding{how}")
    if stats.retries:
        table.add_row("retries", f"{stats.retries} of doubtful segments")
    if stats.features:
        table.add_row("features", f"known from {_counted(stats.features)}")
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
    table.add_row("files", f"{len(recordings)} readable")
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


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in counter.most_common())


def _table(title: str) -> Table:
    table = Table(title=title, show_header=False, title_justify="left")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table
