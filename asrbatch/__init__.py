"""Transcribe folders of audio in batches.

for transcript in asrbatch.transcribe("./meetings"):
print(transcript.path, transcript.text)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asrbatch.api import Transcription, transcribe
    from asrbatch.data import Failure, Transcript, TranscriptSegment
    from asrbatch.errors import (
        AsrBatchError,
        ConfigError,
        EngineError,
        LockedError,
        OutputError,
    )
    from asrbatch.options import Options

__version__ = "0.1.0"

__all__ = [
    "AsrBatchError",
    "ConfigError",
    "EngineError",
    "Failure",
    "LockedError",
    "Options",
    "OutputError",
    "Transcript",
    "TranscriptSegment",
    "Transcription",
    "__version__",
    "transcribe",
]

_HOMES = {
    "Failure": "asrbatch.data",
    "Options": "asrbatch.options",
    "Transcript": "asrbatch.data",
    "TranscriptSegment": "asrbatch.data",
    "Transcription": "asrbatch.api",
    "transcribe": "asrbatch.api",
}


def __getattr__(name: str) -> object:
    """Import what is asked for, so that `asrbatch --help` need not wait for numpy."""
    if name not in __all__:
        msg = f"module 'asrbatch' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(_HOMES.get(name, "asrbatch.errors")), name)
