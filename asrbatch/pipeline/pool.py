"""How many workers, and how much memory they share."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from asrbatch.arena import HEADER_BYTES, ITEM_BYTES, Arena, slot_bytes
from asrbatch.data import SAMPLE_RATE
from asrbatch.engines import CPU_SEQS
from asrbatch.errors import WorkerError
from asrbatch.machine import has_gpu, num_cores
from asrbatch.mel import input_shape
from asrbatch.pipeline.jobs import WorkerSettings
from asrbatch.pipeline.workers import WorkerPool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asrbatch.engines import ModelSpec
    from asrbatch.pipeline.config import RunConfig

logger = logging.getLogger(__name__)

MIN_REGION_SEGMENTS = 4
"""A worker must be able to fill one segment while the engine reads others."""

MAX_DEFAULT_WORKERS = 16
"""Decode 10,000 hours an hour and more; no GPU takes that."""


def default_workers(engine: str) -> int:
    """Cores that are there less what the engine needs."""
    # Beside a GPU one core drives the engine, one is vLLM's own process. Where the model computes
    # on the CPU the workers soon wait for room, which costs nothing, and until then it is starved.
    spare = num_cores() - 2 if has_gpu() and engine != "null" else num_cores()
    return max(1, min(spare, MAX_DEFAULT_WORKERS))


@contextmanager
def open_pool(config: RunConfig, spec: ModelSpec) -> Iterator[WorkerPool]:
    """Start workers, and end them.

    Args:
        config: Number of workers, chunk limit, memory budget, raw format.
        spec: The model, and so the features.
    """
    num_workers = max_workers = config.workers or default_workers(spec.engine)
    if num_workers > num_cores():
        logger.warning(
            "workers: %d is more than the %d cores that are there; %d are used",
            *(num_workers, num_cores(), num_cores()),
        )
        num_workers = max_workers = num_cores()
    mel = spec.mel
    shape = input_shape(config.chunk_samples, mel)
    region_bytes = max(
        # As waveforms; features take a fifth less.
        round(config.budget.max_audio_s * SAMPLE_RATE) * ITEM_BYTES // max_workers,
        MIN_REGION_SEGMENTS * slot_bytes(shape),
    )
    # In one process vLLM keeps what it was given until it has answered; so does the aligner.
    if spec.engine == "vllm" and (config.engine.word_times or not has_gpu()):
        kept = 2 * (config.engine.max_num_seqs or CPU_SEQS)
        region_bytes += kept * slot_bytes(shape) // max_workers
    arena_bytes = HEADER_BYTES + region_bytes * max_workers
    try:
        arena = Arena(arena_bytes)
    except OSError as error:
        msg = (
            f"workers: no {arena_bytes} bytes of shared memory: {error.strerror}; "
            "lower --batch-seconds or --workers"
        )
        raise WorkerError(msg) from error
    settings = WorkerSettings(
        arena_bytes=arena_bytes,
        place=0,
        region=(0, 0),
        held=(),
        chunk_samples=config.chunk_samples,
        mel=mel,
        raw_format=config.raw_format,
        speech=config.speech,
        max_feature_bytes=config.max_feature_bytes,
    )
    pool = WorkerPool(arena, settings, num_workers, max_workers)
    try:
        yield pool
    finally:
        pool.close()
        arena.close()
