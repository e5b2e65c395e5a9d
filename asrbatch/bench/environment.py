"""What a figure was measured on."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from asrbatch.machine import num_cores
from asrbatch.pipeline.stats import versions

QUERY = ("nvidia-smi", "--format=csv,noheader,nounits")


def environment() -> dict[str, Any]:
    """Machine, GPU, driver and versions."""
    return {
        "machine": platform.machine(),
        "system": platform.platform(),
        "cpu": _cpu(),
        "cores": num_cores(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "gpus": gpus(),
        "versions": versions(),
    }


def gpus() -> list[dict[str, str]]:
    """Name, driver, and memory in MiB of each NVIDIA card; none where there is no such driver."""
    fields = ("name", "driver_version", "memory.total", "memory.used")
    try:
        done = subprocess.run(
            [*QUERY, f"--query-gpu={','.join(fields)}"],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    rows = (line.split(", ") for line in done.stdout.splitlines())
    return [dict(zip(fields, row, strict=False)) for row in rows]


def _cpu() -> str:
    """Model name where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())
