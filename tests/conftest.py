"""Clips, checkpoints and small helpers that the tests share."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pytest
import soundfile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DATA = Path(__file__).parent / "data"
SPEECH = DATA / "speech"
WORDS = DATA / "words"
MODELS = DATA / "models"

# Before anything imports them: no hub, and vLLM small, quiet and in one process.
os.environ.update(
    HF_HUB_OFFLINE="1",
    VLLM_ENABLE_V1_MULTIPROCESSING="0",
    VLLM_CPU_KVCACHE_SPACE="1",
    VLLM_LOGGING_LEVEL="ERROR",
    # Or what one test heard would answer another.
    ASRBATCH_CACHE="0",
)


def references(folder: Path) -> dict[tuple[str, int | None], str]:
    """Reference text by file name and channel."""
    with (folder / "refs.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return {
        (row["file"], None if row.get("channel", "-") == "-" else int(row["channel"])): row["text"]
        for row in rows
        if row["text"]
    }


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Rows of a JSONL file; none where there is no file."""
    return [orjson.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def asrbatch(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line as a user does."""
    command = [sys.executable, "-m", "asrbatch", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def in_blocks(waveform: np.ndarray, num_samples: int) -> Iterator[np.ndarray]:
    """A waveform in pieces of so many samples."""
    return (waveform[i : i + num_samples] for i in range(0, len(waveform), num_samples))


@pytest.fixture
def tone(tmp_path: Path) -> Callable[..., Path]:
    """Make a WAV of noise bursts, different for each name."""

    def make(name: str, seconds: float = 1.0, rate: int = 16_000, folder: Path = tmp_path) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        noise = np.random.default_rng(zlib.crc32(name.encode())).normal(
            0, 0.1, round(seconds * rate)
        )
        soundfile.write(path, noise, rate)
        return path

    return make


@pytest.fixture(scope="session")
def original_layout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The words checkpoint in the layout of the published repositories.

    Its weights are those of the native layout under other names, so that they need not lie in
    the repository twice; the digest shows that the file is the published one to the byte.
    """
    import hashlib
    import shutil

    from safetensors.torch import load_file, save_file

    path = tmp_path_factory.mktemp("models") / "qwen3-asr-words-original"
    shutil.copytree(MODELS / "qwen3-asr-words-original", path)
    renamed = {
        name.replace("model.multi_modal_projector.linear_", "thinker.audio_tower.proj")
        .replace("model.language_model.", "thinker.model.")
        .replace("model.audio_tower.", "thinker.audio_tower."): tensor
        for name, tensor in load_file(MODELS / "qwen3-asr-words" / "model.safetensors").items()
    }
    save_file(renamed, path / "model.safetensors", metadata={"format": "pt"})
    digest = hashlib.sha256((path / "model.safetensors").read_bytes()).hexdigest()
    assert digest == "b8f9e68c4af463830de62d32e74479939262936a03f6fd0a20baf0238db50cde"
    return path
