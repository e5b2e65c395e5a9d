"""Lhotse manifests: recordings and cuts, one object each.

Read are recordings that lie in files, and cuts of one of their channels or of all; a cut of all
of a recording is the whole file. What would need Lhotse itself is refused: mixed and padded
cuts, transforms other than resampling, and audio that does not lie in files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asrbatch.data import Source
from asrbatch.scan.fields import locate, pick_language, to_channel, to_length, to_samples

if TYPE_CHECKING:
    from pathlib import Path

    from asrbatch.scan.fields import Place, Row

CUT_TYPES = ("MonoCut", "MultiCut")

SAVE_FIRST = "save the audio with Lhotse first (CutSet.save_audios)"


def is_lhotse(row: Row) -> bool:
    """Whether an object is a recording or a cut of Lhotse."""
    return "sources" in row or "recording" in row or str(row.get("type")).endswith("Cut")


def read_row(row: Row, place: Place) -> Source:
    """Turn a recording or a cut into a source.

    Args:
        row: The object.
        place: Where it stands.

    Returns:
        The source; its channel counts within its file, and is None where all are meant.

    Raises:
        ConfigError: It is of a kind that is not read, or a field says what cannot be.
    """
    if "sources" in row:
        path, name, channel = _locate(row, None, place)
        return Source(path, name, channel=channel)
    if row.get("type", CUT_TYPES[0]) not in CUT_TYPES:
        raise place.error(
            f"type is {row['type']!r}, and read are {' or '.join(CUT_TYPES)}; {SAVE_FIRST}"
        )
    recording = row.get("recording")
    if not isinstance(recording, dict):
        raise place.error("recording is not there; give cuts with their recordings")
    wanted = None if row.get("channel") is None else _channels(row["channel"], place)
    path, name, channel = _locate(recording, wanted, place)
    start_sample, num_samples = _span(row, recording, place)
    return Source(
        location=path,
        name=name,
        start_sample=start_sample,
        num_samples=num_samples,
        channel=channel,
        language=_language(row, place),
    )


def _locate(recording: Row, wanted: list[int] | None, place: Place) -> tuple[Path, str, int | None]:
    """Path, name and channel of the one file that holds the channels that are wanted."""
    _check_transforms(recording, place)
    holding = []
    for source in _objects(recording, "sources", place):
        channels = _channels(source.get("channels"), place)
        if wanted is None or not set(wanted).isdisjoint(channels):
            holding.append((source, channels))
    if len(holding) != 1:
        raise place.error(
            f"its channels lie in {len(holding)} of the files of sources; "
            "give entries that need one file each, such as MonoCut"
        )
    source, channels = holding[0]
    if source.get("type") != "file":
        raise place.error(
            f"type of sources is {source.get('type')!r}, and read is file; {SAVE_FIRST}"
        )
    path, name = locate(source.get("source"), "source", place)
    return path, name, _one_or_all(wanted, channels, place)


def _one_or_all(wanted: list[int] | None, held: list[int], place: Place) -> int | None:
    if wanted is None or set(wanted) == set(held):
        return None
    if len(wanted) != 1:
        raise place.error(f"channel is {wanted} of {held}; give one channel or all")
    # Lhotse numbers the channels of a recording, which may lie in several files.
    return held.index(wanted[0])


def _channels(value: object, place: Place) -> list[int]:
    values = value if isinstance(value, list) else [value]
    return [to_channel(channel, "channel", place) for channel in values]


def _check_transforms(recording: Row, place: Place) -> None:
    if not recording.get("transforms"):
        return
    names = [str(t.get("name")) for t in _objects(recording, "transforms", place)]
    if others := [name for name in names if name != "Resample"]:
        raise place.error(
            f"transforms are {', '.join(others)}, which are not applied; {SAVE_FIRST}"
        )


def _span(cut: Row, recording: Row, place: Place) -> tuple[int, int | None]:
    start_sample = to_samples(cut.get("start"), "start", place)
    num_samples = to_length(cut.get("duration"), "duration", place)
    total = recording.get("duration")
    if total is None or start_sample:
        return start_sample, num_samples
    is_whole = num_samples >= to_samples(total, "duration of recording", place)
    return 0, None if is_whole else num_samples


def _language(cut: Row, place: Place) -> str | None:
    """Language of the supervisions, where they agree on one."""
    if not cut.get("supervisions"):
        return None
    supervisions = _objects(cut, "supervisions", place)
    languages = {pick_language(supervision, place, "language") for supervision in supervisions}
    return languages.pop() if len(languages) == 1 else None


def _objects(row: Row, field: str, place: Place) -> list[dict[str, Any]]:
    values = row.get(field)
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise place.error(f"{field} is {values!r}; give a list of objects")
    return values
