"""Measures a run: on given audio or on generated, alone or against simpler ways to do it."""

from asrbatch.bench.random_model import merge_options, write_random_model
from asrbatch.bench.report import bench_table, plot, sweep_table
from asrbatch.bench.run import Work, bench
from asrbatch.bench.sweep import parse_sweep, save_knee, sweep
from asrbatch.bench.workload import generate_clips, parse_lengths

__all__ = [
    "Work",
    "bench",
    "bench_table",
    "generate_clips",
    "merge_options",
    "parse_lengths",
    "parse_sweep",
    "plot",
    "save_knee",
    "sweep",
    "sweep_table",
    "write_random_model",
]
