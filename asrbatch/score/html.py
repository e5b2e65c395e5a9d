"""Scores as one page that needs nothing else."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from asrbatch.score.counts import CONFIDENCE
from asrbatch.score.show import describe_counts, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asrbatch.score.counts import Stretch
    from asrbatch.score.scores import FileScore, Score

_STYLE = """
:root { color-scheme: light dark; --said: #b3261e; --heard: #146c2e; --line: #8886; }
@media (prefers-color-scheme: dark) { :root { --said: #ff8a80; --heard: #7ee08f; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem .2rem 0; text-align: left; }
details { border-top: 1px solid var(--line); padding: .4rem 0; overflow-wrap: anywhere; }
summary { cursor: pointer; } p { margin: .4rem 0; }
del { color: var(--said); } ins { color: var(--heard); text-decoration: none; font-weight: 600; }
"""


def score_page(score: Score) -> str:
    """The page; the files with the most errors come first, each word that was missed is marked.

    What comes from recordings and names is escaped.
    """
    return "\n".join(_lines(score)) + "\n"


def _lines(score: Score) -> Iterator[str]:
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>asrbatch score</title>'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<style>{_STYLE}</style></head><body><h1>asrbatch score</h1><table>"
    for name, value in _totals(score):
        yield f"<tr><th>{name}</th><td>{escape(value)}</td></tr>"
    yield "</table>"
    yield "<p>Said and not heard: <del>red</del>. Heard and not said: <ins>green</ins>.</p>"
    for file in score.worst(len(score.files)):
        yield _file(file)
    correct = len(score.files) - len(score.worst(len(score.files)))
    yield f"<p>{correct} files without an error.</p></body></html>"


def _totals(score: Score) -> Iterator[tuple[str, str]]:
    yield "files", f"{len(score.files)}"
    yield "WER", percent(score.words.rate)
    if score.interval is not None:
        low, high = score.interval
        yield f"{CONFIDENCE:.0%} interval", f"{percent(low)} to {percent(high)}"
    yield "CER", percent(score.characters.rate)
    yield "words", f"{score.words.length} said: {describe_counts(score.words)}"
    if score.missing:
        yield "without a result", ", ".join(score.missing)
    if score.unreferenced:
        yield "without a reference", f"{score.unreferenced} results, not scored"


def _file(file: FileScore) -> str:
    title = f"{file.name}: WER {percent(file.words.rate)}, {describe_counts(file.words)}"
    words = " ".join(map(_stretch, file.alignment))
    return f'<details><summary>{escape(title)}</summary><p dir="auto">{words}</p></details>'


def _stretch(stretch: Stretch) -> str:
    if stretch.kind == "equal":
        return escape(stretch.reference)
    said = f"<del>{escape(stretch.reference)}</del>" if stretch.reference else ""
    heard = f"<ins>{escape(stretch.hypothesis)}</ins>" if stretch.hypothesis else ""
    return f"{said} {heard}".strip()
