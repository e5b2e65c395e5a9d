"""What this machine has, asked without loading anything heavy."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

GPU_DEVICES = ("/dev/nvidiactl", "/dev/kfd")
"""Of NVIDIA's and of AMD's driver."""


def num_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def paused_gc() -> Iterator[None]:
    """Make many small objects that all stay.

    The garbage collector would look at all of them again and again, for nothing.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def has_gpu() -> bool:
    """Whether a driver for a GPU is there, without asking torch, which takes seconds."""
    return any(Path(device).exists() for device in GPU_DEVICES)


def free_memory_share() -> float:
    """Share of the memory that is free: of the machine's, or of this container's if that is less."""
    import psutil  # noqa: PLC0415  (kept out of --help)

    memory = psutil.virtual_memory()
    return min(
        float(memory.available / memory.total), _container_free_share(Path("/sys/fs/cgroup"))
    )


def _container_free_share(group: Path) -> float:
    """Share that a control group leaves; 1 where there is no limit (Linux, cgroup v2)."""
    try:
        limit = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
        rows = (row.split() for row in (group / "memory.stat").read_text().splitlines())
        reclaimable = {name: int(value) for name, value in rows}["inactive_file"]
    except (OSError, ValueError, KeyError):  # no such group, or `max`, which is no limit
        return 1.0
    return 1 - (used - reclaimable) / limit


def module_path() -> str:
    """Where this process looks for modules, for those that it starts to look there too."""
    return os.pathsep.join(path or os.getcwd() for path in sys.path)  # noqa: PTH109
