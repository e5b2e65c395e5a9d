"""What this machine has, asked without loading anything heavy."""

from __future__ import annotations

import os
from pathlib import Path

GPU_DEVICES = ("/dev/nvidiactl", "/dev/kfd")
"""Of NVIDIA's and of AMD's driver."""


def num_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def has_gpu() -> bool:
    """Whether a driver for a GPU is there, without asking torch, which takes seconds."""
    return any(Path(device).exists() for device in GPU_DEVICES)
