"""Folders and globs: which files are there; nothing is opened.

Hidden files and folders are left out. Every folder is listed once: by its own name where it lies
in the tree, else by the first link to it, so that no loop of links goes on and no file has two
names. Links to files are taken. A link that leads nowhere is taken too: what was meant to be
there is then a failure that is seen. FIFOs, sockets and devices are left out.
"""

from __future__ import annotations

import logging
import os
import posixpath
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from asrbatch.scan.options import DEFAULT_EXTENSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Listing:
    """Names in one folder."""

    files: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    """Links to folders."""

    @property
    def is_empty(self) -> bool:
        return not (self.files or self.folders or self.links)


def file_mode(path: Path) -> int | None:
    """Type and permission bits of what a path leads to; None where it leads nowhere."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return None


def walk(root: Path) -> list[str]:
    """Names of all files below a folder.

    A folder that cannot be listed is warned of and left out. An empty folder that is named like
    audio counts as a file: somebody takes it for a recording, and must hear that it is none.

    Args:
        root: Folder to begin with; it may be hidden or a link.

    Returns:
        Names relative to the root with `/` between their parts, sorted by parts.
    """
    listings = dict(_walk(root))
    names = [prefix + name for prefix, listing in listings.items() for name in listing.files]
    names += [
        prefix.rstrip("/")
        for prefix, listing in listings.items()
        if listing.is_empty and PurePath(prefix).suffix.lower()[1:] in DEFAULT_EXTENSIONS
    ]
    return sorted(names, key=_by_parts)


def list_folder(root: Path) -> list[str]:
    """Names of the files right in a folder, sorted; a folder that cannot be listed is warned of."""
    return sorted(_list(root).files)


def has_wildcards(text: str) -> bool:
    """Whether a path can be read as a glob."""
    return any(character in text for character in "*?[")


def split_glob(pattern: str) -> tuple[Path, tuple[str, ...]]:
    """Split a glob into its longest leading folder without wildcards, and the remaining parts."""
    parts = PurePath(pattern).parts
    first = next(i for i, part in enumerate(parts) if has_wildcards(part))
    return Path(*parts[:first]), parts[first:]


def expand_glob(root: Path, parts: Sequence[str]) -> list[str]:
    """Names that a glob matches.

    Args:
        root: Folder to begin with.
        parts: Patterns of the levels below it; `**` is any number of levels.

    Returns:
        Names relative to the root, sorted by parts; those of folders end in `/`.
    """
    return sorted(set(_expand(root, "", parts)), key=_parts)


def matches(name: str, pattern: str) -> bool:
    """Whether a name, or the bare file name in it, matches a pattern such as `calls/**/*.wav`."""
    levels = _parts(posixpath.normpath(pattern))
    parts = _parts(name)
    return _match_parts(parts, levels) or _match_parts(parts[-1:], levels)


def _match_parts(parts: Sequence[str], levels: Sequence[str]) -> bool:
    if not levels:
        return not parts
    if levels[0] == "**":
        return any(_match_parts(parts[i:], levels[1:]) for i in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], levels[0]) and _match_parts(parts[1:], levels[1:])


def _by_parts(name: str) -> str:
    """Sorts names as `_parts` would: no name holds a character before this one."""
    return name.replace("/", "\0")


def _parts(name: str) -> list[str]:
    return name.split("/")


def _walk(root: Path) -> Iterator[tuple[str, _Listing]]:
    """Every folder once: the prefix of names in it, and what it holds."""
    seen: set[tuple[int, int]] = set()
    folders, links = [""], list[str]()
    while folders or links:
        if not folders:
            folders, links = sorted(links, key=_parts, reverse=True), []
        prefix = folders.pop()
        try:
            stat = (root / prefix).stat()
        except OSError as error:
            logger.warning("left out %s: %s", root / prefix, error.strerror)
            continue
        if (stat.st_dev, stat.st_ino) in seen:
            logger.debug("left out %s: it is listed under another name", root / prefix)
            continue
        seen.add((stat.st_dev, stat.st_ino))
        listing = _list(root / prefix)
        yield prefix, listing
        folders += [f"{prefix}{name}/" for name in listing.folders]
        links += [f"{prefix}{name}/" for name in listing.links]


def _list(folder: Path) -> _Listing:
    listing = _Listing()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.name.startswith("."):
                    _add(entry, listing)
    except OSError as error:
        logger.warning("left out what is in %s: %s", folder, error.strerror)
    return listing


def _add(entry: os.DirEntry[str], listing: _Listing) -> None:
    try:
        if entry.is_dir():
            (listing.links if entry.is_symlink() else listing.folders).append(entry.name)
        elif entry.is_file() or (entry.is_symlink() and not Path(entry.path).exists()):
            listing.files.append(entry.name)
        else:
            logger.debug("left out %s: it is neither a file nor a folder", entry.path)
    except OSError:
        listing.files.append(entry.name)  # links in a circle, or no permission: to be seen


def _expand(root: Path, prefix: str, parts: Sequence[str]) -> Iterator[str]:
    if not parts:
        yield prefix
    elif parts[0] == "**":
        for below, listing in _walk(root / prefix):
            if parts[1:]:
                yield from _expand(root, prefix + below, parts[1:])
            else:
                yield from (prefix + below + name for name in listing.files)
    else:
        listing = _list(root / prefix)
        for name in listing.folders + listing.links:
            if fnmatchcase(name, parts[0]):
                yield from _expand(root, f"{prefix}{name}/", parts[1:])
        if not parts[1:]:
            yield from (prefix + name for name in listing.files if fnmatchcase(name, parts[0]))
