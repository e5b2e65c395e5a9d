"""Which result belongs to which reference."""

from __future__ import annotations

from collections import defaultdict
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from asrbatch.errors import ConfigError
from asrbatch.identity import part_of_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from asrbatch.results import Row
    from asrbatch.score.references import Reference


def match(
    references: Sequence[Reference], results: Iterable[Row]
) -> list[tuple[Reference, Row | None]]:
    """Find the result of each reference.

    Paths need not begin in the same folder: one may have folders in front that the other lacks.

    Args:
        references: With unique keys.
        results: Lines of `results.jsonl`.

    Returns:
        Each reference with its result, in their order; None where there is none.

    Raises:
        ConfigError: A reference could be that of two results, or two that of one.
    """
    by_last: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for result in results:
        path, part = PurePosixPath(result["path"]), part_of_id(result["id"])
        by_last[path.name, part].append(result)
        by_last[path.stem, part].append(result)
    taken: dict[int, Reference] = {}
    pairs: list[tuple[Reference, Row | None]] = []
    for reference in references:
        found = _choose(reference, by_last[PurePosixPath(reference.name).name, reference.part])
        if found is not None:
            other = taken.setdefault(id(found), reference)
            if other is not reference:
                msg = (
                    f"ref: {other.key} and {reference.key} could both be of {found['path']}; "
                    "give them the paths of the results"
                )
                raise ConfigError(msg)
        pairs.append((reference, found))
    return pairs


def _choose(reference: Reference, candidates: Sequence[Row]) -> Row | None:
    wanted = PurePosixPath(reference.name).parts
    fitting: list[Row] = []
    for result in candidates:
        path = PurePosixPath(result["path"])
        have = path.parts if reference.has_ending else path.with_suffix("").parts
        if have == wanted:
            return result
        shared = min(len(have), len(wanted))
        if have[-shared:] == wanted[-shared:]:
            fitting.append(result)
    if len(fitting) > 1:
        msg = (
            f"ref: {reference.key} could be of {fitting[0]['path']} and of {fitting[1]['path']}; "
            "give it more of the path"
        )
        raise ConfigError(msg)
    return fitting[0] if fitting else None
