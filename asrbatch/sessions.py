"""Recordings that belong together become one transcript, with times that run on."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from blake3 import blake3

from asrbatch.data import Transcript, TranscriptSegment
from asrbatch.identity import part_of_id
from asrbatch.stitch import join_texts, main_language

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from asrbatch.data import Source

_DIGITS = re.compile(r"([0-9]+)")


@dataclass(slots=True)
class Session:
    """Recordings in their order."""

    name: str
    keys: list[str] = field(default_factory=list)
    """Of the sources."""
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Lines of the results, by key."""


def name_by_folder(sources: Sequence[Source]) -> list[Source]:
    """Give each source that has no session that of its folder.

    Returns:
        In each folder `part-2` comes before `part-10`. Folders of one name in several places are
        named by their whole path.
    """
    folders = {_folder(source) for source in sources}
    names = Counter(_short_name(folder) for folder in folders)
    named = [
        source if source.session else replace(source, session=_name(_folder(source), names))
        for source in sources
    ]
    return sorted(named, key=lambda source: (source.session or "", _natural(source.name)))


def find_sessions(sources: Iterable[Source]) -> list[Session]:
    """Sessions of the sources, both in the order in which they come."""
    found: dict[str, Session] = {}
    for source in sources:
        if source.session:
            session = found.setdefault(source.session, Session(source.session))
            session.keys.append(source.key)
    return list(found.values())


def collect_rows(sessions: Sequence[Session], rows: Iterable[dict[str, Any]]) -> None:
    """Give each session its lines of the results; of two of one recording the later counts."""
    wanted = {key: session for session in sessions for key in session.keys}
    for row in rows:
        key = row["path"] + part_of_id(row["id"])
        if key in wanted:
            wanted[key].rows[key] = row


def stitch_session(session: Session) -> dict[str, Any] | None:
    """One line for all recordings of a session that are done; None where none is.

    Returns:
        The fields of a `Transcript` whose path is the session's name, `recordings` with the place
        of each of them, and `missing` with those that are not done.
    """
    rows = [session.rows[key] for key in session.keys if key in session.rows]
    if not rows:
        return None
    recordings: list[dict[str, Any]] = []
    segments: list[dict[str, Any]] = []
    start_s = 0.0
    for row in rows:
        segments += _shifted(row, start_s)
        place = {"start_s": round(start_s, 6), "duration_s": row["duration_s"]}
        recordings.append({"path": row["path"], "id": row["id"]} | place)
        start_s += row["duration_s"]
    texts = [text for row in rows for text in _texts(row)]
    missing = [key for key in session.keys if key not in session.rows]
    flags = {flag for row in rows for flag in row["flags"]}
    transcript = Transcript(
        id=blake3("\n".join(row["id"] for row in rows).encode()).hexdigest(),
        path=session.name,
        size_bytes=sum(row["size_bytes"] for row in rows),
        mtime_ns=max(row["mtime_ns"] for row in rows),
        session=session.name,
        channel=None,
        offset_s=0.0,
        duration_s=round(start_s, 6),
        speech_s=round(sum(row["speech_s"] for row in rows), 6),
        skipped_s=round(sum(row["skipped_s"] for row in rows), 6),
        language=main_language(texts),
        text=join_texts(texts),
        segments=(),
        flags=tuple(sorted(flags | ({"incomplete"} if missing else set()))),
        model=rows[0]["model"],
        engine=rows[0]["engine"],
        options=rows[0]["options"],
        rtf=round(sum(row["rtf"] * row["duration_s"] for row in rows) / start_s, 6),
        created_at=max(row["created_at"] for row in rows),
    )
    lists = {"segments": segments, "recordings": recordings, "missing": missing}
    return asdict(transcript) | lists


def _texts(row: dict[str, Any]) -> list[TranscriptSegment]:
    """Texts with their languages; the whole where nobody asked for segments."""
    whole = {"start_s": 0.0, "end_s": row["duration_s"]} | {n: row[n] for n in ("text", "language")}
    return [
        TranscriptSegment(s["start_s"], s["end_s"], s["text"], s["language"], "end")
        for s in row["segments"] or [whole]
    ]


def _shifted(row: dict[str, Any], start_s: float) -> Iterator[dict[str, Any]]:
    """Segments of a recording, on the clock of its session."""
    shift_s = start_s - row["offset_s"]
    for segment in row["segments"]:
        words = [_moved(word, shift_s) for word in segment.get("words") or ()]
        yield _moved(segment, shift_s) | ({"words": words} if words else {}) | {"path": row["path"]}


def _moved(span: dict[str, Any], shift_s: float) -> dict[str, Any]:
    return span | {name: round(span[name] + shift_s, 6) for name in ("start_s", "end_s")}


def _folder(source: Source) -> tuple[str, str]:
    """Root, and folder below it."""
    return source.root, str(PurePosixPath(source.name).parent)


def _short_name(folder: tuple[str, str]) -> str:
    root, parent = folder
    return parent if parent != "." else PurePosixPath(root).name or parent


def _name(folder: tuple[str, str], names: Counter[str]) -> str:
    short = _short_name(folder)
    return short if names[short] == 1 else str(PurePosixPath(*folder))


def _natural(name: str) -> list[tuple[int, str]]:
    """Digits count as numbers: `part-2` comes before `part-10`."""
    return [(int(p), "") if i % 2 else (-1, p) for i, p in enumerate(_DIGITS.split(name))]
