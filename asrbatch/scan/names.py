"""One name for each file of a scan, and no name for two."""

from __future__ import annotations

import hashlib
import logging
import os
import posixpath
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from asrbatch.data import Source

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """A source, and how it was come by."""

    source: Source
    root: str
    """Folder of its input as typed, `/` between its parts: what its name is relative to."""
    picked: bool = False
    """It was named and not just found, so that its ending does not matter."""


def distinct_sources(found: Iterable[Found]) -> list[Source]:
    """Take each part of each file once, and give different files different names.

    A file that two inputs reach in the same real folder counts once, under its first name. Where
    two files would have the same name, both get the folder of their input as typed as a prefix;
    what that does not part gets a digest of its path as a suffix.

    Args:
        found: What the inputs hold, in order.

    Returns:
        Sources with unique keys, in the same order.
    """
    items = _without_repeats(found)
    names = [item.source.name for item in items]
    prefixed: set[int] = set()
    while clashing := _clashing(names, items) - prefixed:
        for i in clashing:
            names[i] = posixpath.normpath(posixpath.join(items[i].root, names[i]))
        prefixed |= clashing
    for i in _clashing(names, items):
        names[i] = f"{names[i]}~{_digest(items[i].source)}"
    sources: dict[str, Source] = {}
    for item, name in zip(items, names, strict=True):
        source = item.source if name == item.source.name else replace(item.source, name=name)
        # The same key is now the same part of the same file, reached through a link.
        _warn_of_other(sources.setdefault(source.key, source), source)
    return list(sources.values())


def _warn_of_other(kept: Source, dropped: Source) -> None:
    """Say that one of two entries for the same part of a file is left out."""
    for field in ("session", "language", "context"):
        mine, other = getattr(kept, field), getattr(dropped, field)
        if mine != other:
            logger.warning(
                "left out a second entry for %s, with %s %r: the first has %r, and each part of a "
                "file has one line; give it a results file of its own",
                *(kept.key, field, other, mine),
            )
            return


def _without_repeats(found: Iterable[Found]) -> list[Found]:
    real_folders: dict[str, str] = {}
    items: dict[tuple[str, str, str], Found] = {}
    for item in found:
        folder, _, name = os.fspath(item.source.location).rpartition("/")
        if folder not in real_folders:
            real_folders[folder] = os.path.realpath(folder or "/")
        kept = items.setdefault((real_folders[folder], name, item.source.part), item)
        if kept is not item:
            _warn_of_other(kept.source, item.source)
    return list(items.values())


def _clashing(names: Sequence[str], items: Sequence[Found]) -> set[int]:
    """Positions of those that share their name or key with another file."""
    counts = Counter(names)
    with_part = [i for i, item in enumerate(items) if item.source.part]
    counts.update(names[i] + items[i].source.part for i in with_part)
    if counts.total() == len(counts):
        return set()
    users: defaultdict[str, set[int]] = defaultdict(set)
    for i, (name, item) in enumerate(zip(names, items, strict=True)):
        for text in {name, name + item.source.part}:
            if counts[text] > 1:
                users[text].add(i)
    return {i for group in users.values() if _are_different(group, items) for i in group}


def _are_different(group: set[int], items: Sequence[Found]) -> bool:
    if len(group) == 1:
        return False
    paths = {items[i].source.location for i in group}
    return len(paths) > 1 and len({os.path.realpath(path) for path in paths}) > 1


def _digest(source: Source) -> str:
    return hashlib.sha256(os.fsencode(os.path.realpath(source.location))).hexdigest()[:8]
