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


def module_path() -> str:
    """Where this process looks for modules, for those that it starts to look there too."""
    return os.pathsep.join(path or os.getcwd() for path in sys.path)  # noqa: PTH109
