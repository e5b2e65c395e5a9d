"""Errors that asrbatch raises on purpose.

    AsrBatchError
    ├── ConfigError          wrong usage or configuration: exit 2
    ├── LockedError          another run writes to the same results: exit 75
    ├── OutputError          results cannot be written: exit 3
    ├── EngineError          the engine cannot start or go on: exit 3
    ├── WorkerError          the worker processes cannot start: exit 3
    └── RecordingError       one recording cannot be transcribed: one failure line
        ├── AudioProbeError  its headers cannot be read
        ├── AudioDecodeError its samples cannot be read
        └── SegmentError     the engine refuses one of its segments

Messages name the field, the value and the remedy. The class name of a `RecordingError` is
the `error` of its line in `results.failures.jsonl`.
"""


class AsrBatchError(Exception):
    """Base of every error raised on purpose."""


class ConfigError(AsrBatchError):
    """Wrong usage or configuration."""


class LockedError(AsrBatchError):
    """Another run holds the results file."""


class OutputError(AsrBatchError):
    """Results cannot be written: the disk is full, or the permission is gone."""


class EngineError(AsrBatchError):
    """The engine cannot start, or cannot go on."""


class WorkerError(AsrBatchError):
    """The worker processes cannot start."""


class RecordingError(AsrBatchError):
    """One recording cannot be transcribed; the run goes on."""

    stage = "unknown"


class AudioProbeError(RecordingError):
    """The headers of a file cannot be read, or say what cannot be."""

    stage = "probe"


class AudioDecodeError(RecordingError):
    """The samples of a file cannot be read."""

    stage = "decode"


class SegmentError(RecordingError):
    """The engine refuses a segment."""

    stage = "engine"
