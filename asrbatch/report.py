"""What `asrbatch scan` prints: everything up to the plan."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from asrbatch.console import plan_table
from asrbatch.data import SAMPLE_RATE
from asrbatch.engines import EngineConfig, resolve_model
from asrbatch.errors import ConfigError
from asrbatch.ledger import summary_path
from asrbatch.pipeline import RunStats, open_pool, prepare, scan_inputs

if TYPE_CHECKING:
    from rich.console import Console

    from asrbatch.pipeline import Prepared, RunConfig

logger = logging.getLogger(__name__)

ASSUMED_RTFX = 30.0
"""Whisper tiny.en on two CPU cores (BENCHMARKS.md); a GPU is a hundred times that."""


def print_plan(
    config: RunConfig, out: str, rtfx: float | None, stderr: Console, *, as_json: bool
) -> None:
    """Scan, probe and plan, and print it; JSON goes to standard output.

    Args:
        config: The run.
        out: Results of earlier runs, whose speed is taken for the estimate.
        rtfx: Speed to assume instead.
        stderr: Where people read.
        as_json: Print for programs.

    Raises:
        ConfigError: There is nothing to transcribe.
    """
    if rtfx is not None and not rtfx > 0:
        msg = f"rtfx: {rtfx:g} must be above 0"
        raise ConfigError(msg)
    stats = RunStats()
    sources = scan_inputs(config, stats)
    with open_pool(config, resolve_model(EngineConfig("null"))) as pool:
        prepared = prepare(sources, config, stats, pool, lambda: False)
    speed, origin = (rtfx, "as given") if rtfx else _last_speed(Path(out))
    if as_json:
        plan = plan_summary(prepared, speed)
        sys.stdout.write(orjson.dumps(plan, option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        stderr.print(plan_table(prepared, speed, origin))


def plan_summary(prepared: Prepared, rtfx: float) -> dict[str, Any]:
    """The plan as plain values."""
    plan, recordings = prepared.plan, prepared.recordings
    audio_s = plan.num_samples / SAMPLE_RATE
    counts = plan.bucket_counts()
    return {
        "files": len(recordings),
        "audio_hours": round(audio_s / 3600, 6),
        "codecs": Counter(r.info.codec for r in recordings),
        "sample_rates": {
            str(rate): n for rate, n in Counter(r.info.sample_rate for r in recordings).items()
        },
        "unknown_length": sum(r.num_samples is None for r in recordings),
        "segments": sum(counts.values()),
        "buckets": [
            {"from_s": round(low_s, 3), "below_s": round(high_s, 3), "segments": counts[bucket]}
            for bucket, (low_s, high_s) in plan.bucket_edges_s.items()
        ],
        "batches": len(plan.batches),
        "padding_ratio": round(plan.padding_ratio, 4),
        "estimated_s": round(audio_s / rtfx, 1),
        "estimated_at_rtfx": rtfx,
        "unreadable": [
            {"path": f.path, "error": f.error, "message": f.message} for f in prepared.failures
        ],
    }


def _last_speed(out: Path) -> tuple[float, str]:
    """RTFx of the last run with these results, or an assumption, and where it comes from."""
    try:
        summary = orjson.loads(summary_path(out).read_bytes())
        was_measured = summary["engine"] != "null" and summary["engine_rtfx"]
        rtfx = summary["rtfx"] if was_measured else None
    except (OSError, ValueError, KeyError, TypeError):
        rtfx = None
    if isinstance(rtfx, float) and rtfx > 0:
        return rtfx, "measured by the last run"
    return ASSUMED_RTFX, "assumed: a small model on two CPU cores"
