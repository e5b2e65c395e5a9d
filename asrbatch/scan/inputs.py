"""Inputs as they are typed become sources.

| input | is |
|---|---|
| a file | taken whatever its ending, or read where its name is that of a manifest |
| a folder | walked, hidden files left out; a Kaldi data directory where it holds `wav.scp` and no audio |
| a glob | expanded as a shell would; the folders it matches are walked |

A path that exists is never read as a glob. Files of folders and globs are taken by their endings,
except where the glob itself spells one.
"""

from __future__ import annotations

import logging
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from asrbatch.data import Source
from asrbatch.errors import ConfigError
from asrbatch.identity import printable
from asrbatch.scan import kaldi
from asrbatch.scan.files import (
    expand_glob,
    has_wildcards,
    list_folder,
    matches,
    split_glob,
    walk,
)
from asrbatch.scan.manifest import is_manifest, read_manifest
from asrbatch.scan.names import Found, distinct_sources
from asrbatch.scan.options import DEFAULT_EXTENSIONS, ScanOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

logger = logging.getLogger(__name__)

_DEFAULTS = ScanOptions()


def scan(inputs: Sequence[str | Path], options: ScanOptions = _DEFAULTS) -> list[Source]:
    """List what is to be transcribed; only manifests are opened.

    Args:
        inputs: Files, folders, globs and manifests.
        options: What to take of them.

    Returns:
        Sources in the order of the inputs, those of `options.manifests` last; within a folder
        sorted by the parts of their names, within a manifest in its order. Keys are unique.

    Raises:
        ConfigError: An input does not exist, a manifest cannot be read or says what cannot be,
            or nothing is found at all.
    """
    found: list[Found] = []
    left_out = 0
    for item in _find(inputs, options):
        if _is_wanted(item, options):
            found.append(item)
        else:
            left_out += 1
    if not found:
        raise ConfigError(_nothing_found([*inputs, *options.manifests], options, left_out))
    return distinct_sources(found)


def _find(inputs: Iterable[str | Path], options: ScanOptions) -> Iterator[Found]:
    for given in inputs:
        yield from _from_input(os.fspath(given), options)
    for path in options.manifests:
        yield from _from_manifest(path)


def _from_input(given: str, options: ScanOptions) -> Iterable[Found]:
    if not given:
        msg = "inputs: one of them is empty; give . for the folder you are in"
        raise ConfigError(msg)
    path = Path(given)
    mode = _mode(path)
    if mode is None:
        return _from_glob(given, options)
    if stat.S_ISDIR(mode):
        return _from_manifest(path) if _is_kaldi_folder(path) else _from_folder(path, options)
    if not stat.S_ISREG(mode):
        msg = f"inputs: {given} is a pipe, a socket or a device; give a file"
        raise ConfigError(msg)
    if is_manifest(path):
        return _from_manifest(path)
    source = Source(path, printable(path.name), root=os.path.realpath(path.parent))
    return [Found(source, _typed(path.parent), picked=True)]


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except PermissionError as error:
        msg = f"inputs: no permission to look at {path}; give it, or leave the input out"
        raise ConfigError(msg) from error
    except (OSError, ValueError):
        return None


def _from_folder(folder: Path, options: ScanOptions) -> Iterator[Found]:
    names = walk(folder) if options.recursive else list_folder(folder)
    root, prefix = _typed(folder), os.path.join(folder, "")  # noqa: PTH118  (a million times)
    real_root = os.path.realpath(folder)
    for name in names:
        yield Found(Source(prefix + name, printable(name), root=real_root), root)


def _from_glob(pattern: str, options: ScanOptions) -> Iterator[Found]:
    if not has_wildcards(pattern):
        msg = f"inputs: no such file or folder: {printable(pattern)}; check the path"
        raise ConfigError(msg)
    root, parts = split_glob(pattern)
    matched = expand_glob(root, parts) if stat.S_ISDIR(_mode(root) or 0) else []
    if not matched:
        msg = f"inputs: nothing matches {printable(pattern)}; check the path"
        raise ConfigError(msg)
    spelled = Path(parts[-1]).suffix
    picked = bool(spelled) and not has_wildcards(spelled)
    real_root = os.path.realpath(root)
    for name in matched:
        if name.endswith("/"):
            for item in _from_folder(root / name, options):
                below = printable(name) + item.source.name
                yield Found(Source(item.source.location, below, root=real_root), _typed(root))
        else:
            source = Source(root / name, printable(name), root=real_root)
            yield Found(source, _typed(root), picked)


def _from_manifest(path: Path) -> list[Found]:
    sources = read_manifest(path)
    folder = path if stat.S_ISDIR(_mode(path) or 0) else path.parent
    root, real_root = _typed(folder), os.path.realpath(folder)
    return [
        Found(s if s.name.startswith("/") else replace(s, root=real_root), root, picked=True)
        for s in sources
    ]


def _is_kaldi_folder(folder: Path) -> bool:
    """Whether a folder holds `wav.scp`, and no audio of its own beside it."""
    if kaldi.find_table(folder, "wav.scp") is None:
        return False
    if any(_ending(name) in DEFAULT_EXTENSIONS for name in list_folder(folder)):
        return False
    logger.info("read %s as a Kaldi data directory", folder)
    return True


def _is_wanted(item: Found, options: ScanOptions) -> bool:
    name = item.source.name
    if options.exclude and any(matches(name, pattern) for pattern in options.exclude):
        return False
    if options.include and not any(matches(name, pattern) for pattern in options.include):
        return False
    return item.picked or options.extensions is None or _ending(name) in options.extensions


def _ending(name: str) -> str:
    stem, _, ending = name.rpartition(".")
    # A name that only begins with a dot has no ending, nor has one whose folder has the dot.
    return "" if not stem or stem.endswith("/") or "/" in ending else ending.lower()


def _typed(folder: Path) -> str:
    return printable(folder.as_posix())


def _nothing_found(inputs: Sequence[str | Path], options: ScanOptions, left_out: int) -> str:
    if not inputs:
        return "inputs: none is given; name files, folders, globs or manifests"
    places = printable(", ".join(map(str, inputs)))
    message = f"inputs: no audio in {places}; other files, left out: {left_out}"
    if options.include or options.exclude:
        message += "; check --include and --exclude"
    if options.extensions is not None:
        endings = " ".join(sorted(options.extensions))
        message += f"; --ext any takes every file, now only those that end in {endings}"
    return message
