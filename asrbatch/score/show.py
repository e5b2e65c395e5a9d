"""Scores for people: a table, and the worst files word by word in colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from asrbatch.console import printable
from asrbatch.score.counts import CONFIDENCE

if TYPE_CHECKING:
    from rich.console import Console

    from asrbatch.score.counts import Counts, Stretch
    from asrbatch.score.scores import FileScore, Score

SAID, HEARD = "red", "green"


def print_score(score: Score, num_worst: int, console: Console) -> None:
    """Print the corpus, and the files with the most errors."""
    console.print(score_table(score))
    for file in score.worst(num_worst):
        console.print()
        console.print(Text(f"{printable(file.name)}: {describe(file)}", style="bold"))
        console.print(colour(file.alignment))


def score_table(score: Score) -> Table:
    """The corpus as a table."""
    table = Table(title="asrbatch score", show_header=False, title_justify="left")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("files", f"{len(score.files)} scored")
    table.add_row("WER", f"{percent(score.words.rate)}{_interval(score)}")
    table.add_row("CER", percent(score.characters.rate))
    for name, counts in (("words", score.words), ("characters", score.characters)):
        table.add_row(name, f"{counts.length} said: {describe_counts(counts)}")
    if score.missing:
        table.add_row("without a result", f"{len(score.missing)}: {_named(score.missing)}")
    if score.unreferenced:
        table.add_row("without a reference", f"{score.unreferenced} results, not scored")
    return table


def describe(file: FileScore) -> str:
    """Rates and errors of one file."""
    return f"WER {percent(file.words.rate)}, {describe_counts(file.words)}"


def describe_counts(counts: Counts) -> str:
    """Errors by kind."""
    return (
        f"{counts.substitutions} substituted, {counts.deletions} deleted, "
        f"{counts.insertions} inserted"
    )


def percent(rate: float | None) -> str:
    """A rate; a dash where nothing was to be said."""
    return "-" if rate is None else f"{100 * rate:.2f} %"


def colour(alignment: tuple[Stretch, ...]) -> Text:
    """Words in one line: `[-said-]` in red where they were not heard, `{+heard+}` in green."""
    text = Text()
    for stretch in alignment:
        if text:
            text.append(" ")
        if stretch.kind == "equal":
            text.append(printable(stretch.reference))
            continue
        if stretch.reference:
            text.append(f"[-{printable(stretch.reference)}-]", style=SAID)
        if stretch.hypothesis:
            text.append(f"{{+{printable(stretch.hypothesis)}+}}", style=HEARD)
    return text


def _interval(score: Score) -> str:
    if score.interval is None:
        return ""
    low, high = score.interval
    return f", {CONFIDENCE:.0%} of resampled sets from {percent(low)} to {percent(high)}"


def _named(names: tuple[str, ...]) -> str:
    shown = ", ".join(printable(name) for name in names[:10])
    return f"{shown} ..." if len(names) > 10 else shown
