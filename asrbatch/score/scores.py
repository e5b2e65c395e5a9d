"""Scores of each file and of all of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from asrbatch.errors import ConfigError
from asrbatch.results import read_results
from asrbatch.score.counts import (
    Counts,
    Stretch,
    align,
    confidence_interval,
    count_characters,
    total,
)
from asrbatch.score.match import match
from asrbatch.score.normalise import check_normaliser, to_characters, to_words
from asrbatch.score.references import Reference, read_references

if TYPE_CHECKING:
    from pathlib import Path

    from asrbatch.results import Row

MISSING = ("refuse", "skip", "empty")
"""What to do with references without a result: nothing at all, leave them out, or count every
word of them as deleted."""

NUM_NAMED = 3
"""Missing files that a message names."""


@dataclass(frozen=True, slots=True)
class FileScore:
    """Of one recording."""

    name: str
    language: str | None
    words: Counts
    characters: Counts
    alignment: tuple[Stretch, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """Of all recordings that have a reference."""

    files: tuple[FileScore, ...]
    words: Counts
    characters: Counts
    interval: tuple[float, float] | None
    """Of the word error rate."""
    missing: tuple[str, ...]
    """References without a result."""
    unreferenced: int
    """Results without a reference: not scored."""

    def worst(self, count: int) -> list[FileScore]:
        """Files with the most errors first; only those that have any."""
        ordered = sorted(self.files, key=lambda f: (-f.words.errors, f.words.length, f.name))
        return [file for file in ordered[:count] if file.words.errors]

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "wer": self.words.rate,
            "wer_low": self.interval[0] if self.interval else None,
            "wer_high": self.interval[1] if self.interval else None,
            "cer": self.characters.rate,
            "words": _plain(self.words),
            "characters": _plain(self.characters),
            "missing": list(self.missing),
            "unreferenced": self.unreferenced,
            "files": [
                {
                    "name": file.name,
                    "language": file.language,
                    "wer": file.words.rate,
                    "cer": file.characters.rate,
                    "words": _plain(file.words),
                    "characters": _plain(file.characters),
                    "alignment": [stretch._asdict() for stretch in file.alignment],
                }
                for file in self.files
            ],
        }


def _plain(counts: Counts) -> dict[str, int]:
    return asdict(counts) | {"length": counts.length}


def score_results(
    results: Path,
    references: Path,
    *,
    normaliser: str = "auto",
    missing: str = "refuse",
) -> Score:
    """Hold results against references.

    Args:
        results: `results.jsonl`.
        references: A table, a manifest with `text`, or a folder of `.txt`.
        normaliser: What is made alike before words are compared.
        missing: What to do with references without a result.

    Raises:
        ConfigError: Either cannot be read or they do not fit; a reference has no result and
            `missing` is `refuse`.
    """
    check_normaliser(normaliser)
    if missing not in MISSING:
        msg = f"missing: {missing!r} is not known; choose {', '.join(MISSING)}"
        raise ConfigError(msg)
    rows = list(read_results(results))
    pairs = match(read_references(references), rows)
    absent = tuple(reference.key for reference, result in pairs if result is None)
    if absent and missing == "refuse":
        raise _refusal(results, absent, len(pairs))
    if len(absent) == len(pairs):
        msg = f"ref: none of {len(pairs)} references has a result in {results}; compare the paths"
        raise ConfigError(msg)
    files = tuple(
        _score_file(reference, result, normaliser)
        for reference, result in pairs
        if result is not None or missing == "empty"
    )
    words = [file.words for file in files]
    return Score(
        files=files,
        words=total(words),
        characters=total(file.characters for file in files),
        interval=confidence_interval(words),
        missing=absent,
        unreferenced=len(rows) - (len(pairs) - len(absent)),
    )


def _refusal(results: Path, absent: tuple[str, ...], count: int) -> ConfigError:
    more = f" and {len(absent) - NUM_NAMED} more" if len(absent) > NUM_NAMED else ""
    return ConfigError(
        f"results: {results} lacks {len(absent)} of {count} references: "
        f"{', '.join(absent[:NUM_NAMED])}{more}; transcribe them, or give --missing empty to count "
        "all their words as deleted, or --missing skip to leave them out"
    )


def _score_file(reference: Reference, result: Row | None, normaliser: str) -> FileScore:
    language = reference.language or (result or {}).get("language")
    said = to_words(reference.text, language, normaliser)
    heard = to_words((result or {}).get("text", ""), language, normaliser)
    counts, alignment = align(said, heard)
    return FileScore(
        name=reference.key if result is None else result["path"] + reference.part,
        language=language,
        words=counts,
        characters=count_characters(to_characters(said, language), to_characters(heard, language)),
        alignment=alignment,
    )
