"""Which language a recording is in, where nobody said it: its segments vote.

A segment of noise or of foreign names is easily taken for another language. Where somebody really
changes the language, the next segment says so too.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from asrbatch.data import SAMPLE_RATE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from asrbatch.data import Hypothesis, Segment

WINNING_SHARE = 0.8
"""Of the speech, in one language: with less there are two languages, and none is an outlier."""

BELIEVED_RUN_S = 10.0
"""Neighbours that agree and have so much speech together are believed."""


@dataclass(frozen=True, slots=True)
class Vote:
    """How it went."""

    language: str | None
    """Of nearly all speech; None where there is no such language."""
    outliers: frozenset[int]
    """Indices of the segments that are not believed."""


def count_votes(answers: Iterable[tuple[Segment, Hypothesis]]) -> Vote:
    """Count the seconds of speech in each language.

    Args:
        answers: Of one recording, in order of time. Those whose language was given, or that have
            none, do not count.
    """
    votes = [
        (segment.index, _spoken_s(segment), hypothesis.language)
        for segment, hypothesis in answers
        if segment.language is None and hypothesis.language is not None and hypothesis.text
    ]
    seconds: defaultdict[str, float] = defaultdict(float)
    for _, spoken_s, language in votes:
        seconds[language] += spoken_s
    if not seconds:
        return Vote(None, frozenset())
    winner = max(sorted(seconds), key=seconds.__getitem__)
    if seconds[winner] < WINNING_SHARE * sum(seconds.values()):
        return Vote(None, frozenset())
    return Vote(winner, frozenset(_outliers(votes, winner)))


def _outliers(votes: list[tuple[int, float, str]], winner: str) -> list[int]:
    """Those that stand alone, or are short even with the neighbours that agree."""
    runs: list[list[tuple[int, float, str]]] = []
    for vote in votes:
        if runs and runs[-1][-1][2] == vote[2]:
            runs[-1].append(vote)
        else:
            runs.append([vote])
    return [
        index
        for run in runs
        if run[0][2] != winner
        and (len(run) == 1 or sum(spoken_s for _, spoken_s, _ in run) < BELIEVED_RUN_S)
        for index, _, _ in run
    ]


def _spoken_s(segment: Segment) -> float:
    spoken = segment.num_samples if segment.speech_samples is None else segment.speech_samples
    return spoken / SAMPLE_RATE
