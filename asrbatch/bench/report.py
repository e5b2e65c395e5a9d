"""Tables and plots of what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from asrbatch.bench.sweep import knee
from asrbatch.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PLOT_INCHES = (9, 4)


def bench_table(result: dict[str, Any]) -> Table:
    """The table of one measurement."""
    table = Table(title=f"asrbatch bench: {result['engine']}, {result['model']}", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in _rows(result):
        table.add_row(name, text)
    return table


def _rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    runs = ", ".join(f"{rtfx:.1f}" for rtfx in result["rtfx_of_each_run"])
    machine = result["environment"]
    cards = ", ".join(f"{gpu['name']} (driver {gpu['driver_version']})" for gpu in machine["gpus"])
    rows = [
        (
            "workload",
            f"{result['workload']}: {result['audio_s']:.0f} s in {result['segments']} segments",
        ),
        ("segments", _spread(result["lengths_s"], "s")),
        ("concurrency", f"{result['concurrency']}, {result['workers']} workers"),
        ("RTFx", f"{result['rtfx']:.1f} end to end, {result['engine_rtfx']:.1f} engine only"),
        ("  of each run", f"{runs} (median of {result['runs']}, warm-up left out)"),
        ("requests", f"{result['requests_per_s']:.2f} a second"),
        ("output tokens", f"{result['output_tokens_per_s']:.0f} a second"),
        ("latency", _spread(result["latency_s"], "s")),
        ("RTF of a request", _spread(result["request_rtf"], "")),
        ("TTFT", _spread(result["ttft_s"], "s") or "the engine does not say"),
        ("padding ratio", f"{result['padding_ratio']:.3f}"),
        ("starved", f"{result['starved_share']:.2%}"),
        ("stages", ", ".join(f"{k} {v:.2f} s" for k, v in result["stages_s"].items())),
        ("CPU", f"{result['cpu_s_per_audio_hour']:.1f} s for an hour of audio"),
        ("memory", f"{result['peak_memory_bytes'] / 2**20:.0f} MiB at most"),
        ("GPU memory", ", ".join(f"{mib} MiB" for mib in result["gpu_memory_mib"]) or "no GPU"),
        ("load, warm-up", f"{result['load_s']:.1f} s, {result['warm_up_s']:.1f} s"),
        ("failures", str(result["failures"])),
        ("machine", f"{machine['cpu']}, {machine['cores']} cores; {cards or 'no GPU'}"),
        ("versions", ", ".join(f"{k} {v}" for k, v in machine["versions"].items())),
    ]
    rows += [
        (f"against {name}", f"{one['times_as_fast']:.2f} times as fast ({one['seconds']:.1f} s)")
        for name, one in result["compare"].items()
    ]
    return rows


def _spread(quantiles: dict[str, float], unit: str) -> str:
    return ", ".join(f"{name} {value:.3f}{unit and ' '}{unit}" for name, value in quantiles.items())


def sweep_table(results: Sequence[dict[str, Any]]) -> Table:
    """The table of a sweep."""
    best = knee(results)
    table = Table(title="asrbatch bench: sequences at a time")
    for heading in ("sequences", "RTFx", "latency p95", "memory", "GPU memory", "failures"):
        table.add_column(heading, justify="right")
    for result in results:
        mark = " (knee)" if result["concurrency"] == best else ""
        name = f"{result['concurrency']}{mark}"
        if "error" in result:
            table.add_row(name, "-", "-", "-", "-", result["error"])
            continue
        table.add_row(
            name,
            f"{result['rtfx']:.1f}",
            f"{result['latency_s']['p95']:.3f} s",
            f"{result['peak_memory_bytes'] / 2**20:.0f} MiB",
            ", ".join(f"{mib} MiB" for mib in result["gpu_memory_mib"]) or "-",
            str(result["failures"]),
        )
    return table


def plot(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw throughput and latency by the number of sequences, as a PNG.

    Raises:
        ConfigError: matplotlib is not installed, all measurements failed, or the file cannot be
            written.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  (only where a plot is wanted)
    except ImportError as error:
        msg = "plot: matplotlib is not installed; pip install 'asrbatch[plot]'"
        raise ConfigError(msg) from error
    good = [result for result in results if "error" not in result]
    if not good:
        msg = "plot: every measurement failed; there is nothing to draw"
        raise ConfigError(msg)
    figure = Figure(figsize=PLOT_INCHES, layout="constrained")
    throughput, latency = figure.subplots(1, 2)
    sequences = [result["concurrency"] for result in good]
    throughput.plot(sequences, [result["rtfx"] for result in good], "o-", label="end to end")
    throughput.plot(sequences, [result["engine_rtfx"] for result in good], "o--", label="engine")
    throughput.set(xlabel="sequences at a time", ylabel="RTFx", ylim=(0, None))
    throughput.legend()
    for name in ("p50", "p95", "p99"):
        latency.plot(sequences, [r["latency_s"][name] for r in good], "o-", label=name)
    latency.set(xlabel="sequences at a time", ylabel="latency of a request, s", ylim=(0, None))
    latency.legend()
    figure.suptitle(f"{good[0]['engine']}, {good[0]['model']}, {good[0]['workload']}")
    try:
        figure.savefig(path, format="png")
    except OSError as error:
        msg = f"plot: {path} cannot be written: {error.strerror}; choose another file"
        raise ConfigError(msg) from error
