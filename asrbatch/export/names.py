"""Where the files of each recording go: its own tree mirrored, and no name for two."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import defaultdict
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_NAME_BYTES = 255 - len(".supervisions.jsonl") - len("~01234567")
"""What file systems allow, less the longest ending and a digest that may be added."""


class Identity(NamedTuple):
    """What tells one result from another."""

    path: str
    part: str
    """What of the file is meant, as `asrbatch.data.Source.part` writes it."""
    root: str


def output_names(identities: Sequence[Identity]) -> list[str]:
    """Relative paths without ending, one for each result.

    `a/b.wav` becomes `a/b`; where two would be alike, also on a file system that does not tell
    cases apart, they become `a/b.wav` and `a/b.mp3`, and if need be get a digest.

    Args:
        identities: Each one once.
    """
    levels: tuple[Callable[[Identity], str], ...] = (
        lambda one: _name(one, with_ending=False),
        lambda one: _name(one, with_ending=True),
        lambda one: _name(one, with_ending=True) + f"~{_digest(*one)}",
    )
    chosen = [0] * len(identities)
    while True:
        names = [
            levels[level](one).strip("/") for level, one in zip(chosen, identities, strict=True)
        ]
        users: defaultdict[str, list[int]] = defaultdict(list)
        for index, name in enumerate(names):
            users[unicodedata.normalize("NFC", name).casefold()].append(index)
        clashing = [
            index
            for group in users.values()
            if len(group) > 1
            for index in group
            if chosen[index] < len(levels) - 1
        ]
        if not clashing:
            return names
        for index in clashing:
            chosen[index] += 1


def _name(one: Identity, *, with_ending: bool) -> str:
    # Results may have been written by anybody: nothing leads out of the output folder.
    parts = [_harmless(part) for part in PurePosixPath(one.path).parts]
    parts = [part for part in parts if part not in ("", "/", ".", "..")] or ["recording"]
    last = parts[-1] if with_ending else PurePosixPath(parts[-1]).stem
    suffix = one.part.replace("#", ".").replace("@", ".") if one.part else ""
    return "/".join(map(_short, [*parts[:-1], last + _harmless(suffix)]))


def _harmless(part: str) -> str:
    return "".join(c if c.isprintable() and c != "/" else "_" for c in part)


def _short(part: str) -> str:
    data = part.encode("utf-8", "surrogateescape")
    if len(data) <= MAX_NAME_BYTES:
        return part
    kept = data[: MAX_NAME_BYTES - 9].decode("utf-8", "ignore")
    return f"{kept}~{_digest(part)}"


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogateescape")).hexdigest()[:8]
