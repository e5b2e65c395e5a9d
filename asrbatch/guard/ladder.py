"""How a segment whose text is doubtful is heard again, one rung after the other.

Each verdict has a rung that answers it; the others follow in the order of the ladder: cut in two
at the best inner pause, without the context, in the language of the recording, with a little
temperature. Each rung changes one thing about the first try.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from asrbatch.data import SAMPLE_RATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from asrbatch.data import Hypothesis, Segment

Rung: TypeAlias = Literal["split", "no_context", "language", "temperature"]

LADDER: tuple[Rung, ...] = ("split", "no_context", "language", "temperature")

ANSWERS: dict[str, Rung] = {
    "context_echo": "no_context",
    "text_on_silence": "no_context",
    "language_outlier": "language",
}
"""Rungs to begin with; for other verdicts the first of the ladder."""

MIN_SPLIT_SAMPLES = 4 * SAMPLE_RATE
"""Halves of less would hold a word or two."""

TEMPERATURE = 0.2
"""As the first step of openai/whisper's own fallback (`transcribe.py`)."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One try at a segment: the pieces it was heard in, and what speaks against each of them."""

    pieces: tuple[tuple[Segment, Hypothesis], ...]
    verdicts: tuple[tuple[str, ...], ...]
    rung: Rung | None = None
    """None is the first one."""

    @property
    def doubt(self) -> float:
        """Verdicts, each weighted by the share of the samples that it speaks of."""
        total = sum(segment.num_samples for segment, _ in self.pieces)
        weighted = (
            len(verdicts) * segment.num_samples
            for (segment, _), verdicts in zip(self.pieces, self.verdicts, strict=True)
        )
        return sum(weighted) / total


def best_trial(trials: Iterable[Trial]) -> Trial:
    """The one with the least against it; of equals the first, which changed the least."""
    return min(trials, key=lambda trial: trial.doubt)


def next_rung(
    segment: Segment, verdicts: Sequence[str], tried: Iterable[Rung | None], language: str | None
) -> Rung | None:
    """How to hear a segment again.

    Args:
        segment: As it was heard first.
        verdicts: What speaks against that; one at least.
        tried: Rungs that were tried.
        language: Of the recording; None where it is not known.

    Returns:
        None where nothing is left to try.
    """
    can_be = {
        "split": segment.num_samples >= MIN_SPLIT_SAMPLES,
        "no_context": segment.context is not None,
        "language": segment.language is None and language is not None,
        "temperature": True,
    }
    if segment.speech_samples == 0:  # of silence no way makes a text that is true
        can_be |= dict.fromkeys(("split", "language", "temperature"), False)
    order = dict.fromkeys(ANSWERS[verdict] for verdict in verdicts if verdict in ANSWERS)
    tried = set(tried)
    return next(
        (rung for rung in [*order, *LADDER] if can_be[rung] and rung not in tried),
        None,
    )


def second_look(segment: Segment, rung: Rung, language: str | None, index: int) -> Segment:
    """The segment as it is given to the engine on a rung, under another index."""
    changes: dict[Rung, dict[str, Any]] = {
        "split": {},
        "no_context": {"context": None},
        "language": {"language": language},
        "temperature": {"temperature": TEMPERATURE},
    }
    return replace(segment, index=index, **changes[rung])
