"""Write the files of an export."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asrbatch.errors import ConfigError
from asrbatch.export.formats import parse_formats
from asrbatch.export.names import Identity, output_names
from asrbatch.identity import part_of_id
from asrbatch.jsonl import output_error
from asrbatch.results import read_results

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from asrbatch.export.formats import Format
    from asrbatch.results import Row


def export_results(
    results: Path, formats: str, output_dir: Path, *, overwrite: bool = False
) -> int:
    """Write a file for each recording and format.

    Args:
        results: `results.jsonl`.
        formats: Names with commas between, such as `srt,vtt`.
        output_dir: Where the tree of the recordings is mirrored; made if need be.
        overwrite: Replace files that are there, rather than refuse before anything is written.

    Returns:
        Number of files written.

    Raises:
        ConfigError: The results cannot be read, a format is not known or cannot be made of them,
            or a file is there.
        OutputError: A file cannot be written.
    """
    chosen = list(parse_formats(formats).values())
    lines = _newest_lines(results)
    names = dict(zip(lines.values(), output_names(list(lines)), strict=True))
    paths = {
        number: [output_dir / f"{name}{one.ending}" for one in chosen]
        for number, name in names.items()
    }
    if not overwrite:
        _refuse_existing(path for of_row in paths.values() for path in of_row)
    for number, row in enumerate(read_results(results), 1):
        for one, path in zip(chosen, paths.get(number, ()), strict=False):
            _write(path, one, row)
    return len(paths) * len(chosen)


def _newest_lines(results: Path) -> dict[Identity, int]:
    """Number of the last line of each recording: one that was done anew may have two."""
    lines = {}
    for number, row in enumerate(read_results(results), 1):
        lines[Identity(row["path"], part_of_id(row["id"]), str(row.get("root") or ""))] = number
    return lines


def _refuse_existing(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.exists():
            msg = f"output dir: {path} is there already; choose another folder, or give --overwrite"
            raise ConfigError(msg)


def _write(path: Path, one: Format, row: Row) -> None:
    text = one.write(row)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise output_error(path, error) from error
