"""Kaldi data directories: `wav.scp` lists recordings, `segments` spans of them.

A data directory is read by its `segments` where it has them, else by its `wav.scp`; `wav.scp`
named itself is whole files. Other tables, such as `utt2spk`, are not looked at.
"""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from asrbatch.data import Source
from asrbatch.errors import ConfigError
from asrbatch.scan.fields import Place, lines, locate, read_text, to_channel, to_samples
from asrbatch.scan.files import file_mode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TO_THE_END = -1.0
"""End of a segment that lasts as long as its recording (Kaldi, `extract-segments.cc`)."""


def find_table(folder: Path, name: str) -> Path | None:
    """A table of a data directory, gzipped or not; None where it has none."""
    candidates = (folder / name, folder / f"{name}.gz")
    return next((path for path in candidates if stat.S_ISREG(file_mode(path) or 0)), None)


def main_table(folder: Path) -> Path:
    """The table that says what to transcribe.

    Raises:
        ConfigError: The folder is no data directory.
    """
    scp = find_table(folder, "wav.scp")
    if scp is None:
        msg = f"manifest: the folder {folder} holds no wav.scp; give a file, or a data directory"
        raise ConfigError(msg)
    return find_table(folder, "segments") or scp


def read_scp(path: Path, text: str) -> Iterator[Source]:
    """Whole recordings, from `recording-id path` a line.

    Raises:
        ConfigError: A line is none such, or a shell command, which is never run.
    """
    for listed, place in _recordings(path, text).values():
        yield Source(*locate(listed, "path", place))


def read_segments(path: Path, text: str) -> Iterator[Source]:
    """Spans, from `segment-id recording-id start end [channel]` a line, in seconds.

    Raises:
        ConfigError: There is no `wav.scp` beside it, or a line does not fit.
    """
    scp = find_table(path.parent, "wav.scp")
    if scp is None:
        msg = f"manifest: {path} needs the wav.scp of its recordings beside it; put it there"
        raise ConfigError(msg)
    recordings = _recordings(scp, read_text(scp))
    for place, line in lines(path, text):
        fields = line.split()
        if len(fields) not in {4, 5}:
            raise place.error(f"{line!r} is not: segment-id recording-id start end [channel]")
        _, recording_id, start, end, *channel = fields
        if recording_id not in recordings:
            raise place.error(f"recording-id {recording_id!r} is not in {scp}; add it there")
        start_sample, num_samples = _span(start, end, place)
        yield Source(
            *locate(recordings[recording_id][0], "path", recordings[recording_id][1]),
            start_sample=start_sample,
            num_samples=num_samples,
            channel=to_channel(_number(channel[0], int), "channel", place) if channel else None,
        )


def _recordings(path: Path, text: str) -> dict[str, tuple[str, Place]]:
    """Path of each recording, and where it is written."""
    recordings: dict[str, tuple[str, Place]] = {}
    for place, line in lines(path, text):
        recording_id, *rest = line.split(maxsplit=1)
        if not rest:
            raise place.error(f"{line!r} is not: recording-id path")
        if rest[0].endswith("|"):
            raise place.error(
                f"{rest[0]!r} is a shell command, which is never run; "
                "write its output to a file and list that"
            )
        if recording_id in recordings:
            raise place.error(f"recording-id {recording_id!r} is there twice; give each its own")
        recordings[recording_id] = (rest[0], place)
    return recordings


def _span(start: str, end: str, place: Place) -> tuple[int, int | None]:
    start_sample = to_samples(_number(start, float), "start", place)
    if _number(end, float) == TO_THE_END:
        return start_sample, None
    num_samples = to_samples(_number(end, float), "end", place) - start_sample
    if num_samples <= 0:
        raise place.error(f"end is {end}, which is not after start {start}; give -1 for the end")
    return start_sample, num_samples


def _number(text: str, kind: type[int] | type[float]) -> object:
    """The number that a text says, or the text itself, for the message."""
    try:
        return kind(text)
    except ValueError:
        return text
