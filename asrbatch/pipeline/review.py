"""What is doubtful in a recording, and what came of hearing it again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from asrbatch.guard import Trial, best_trial, count_votes, judge, next_rung, second_look

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from asrbatch.data import Hypothesis, Segment
    from asrbatch.guard import Rung


@dataclass(slots=True)
class Request:
    """A segment to be heard once more."""

    first: int
    """Index of the segment."""
    rung: Rung
    segment: Segment
    """As it is to be heard, with an index below 0; its second half counts one further down."""
    pieces: dict[int, Segment | None]
    """By index; None until it comes."""
    hypotheses: dict[int, Hypothesis] = field(default_factory=dict)

    @property
    def is_split(self) -> bool:
        """Whether it is heard in two halves."""
        return self.rung == "split"


class Review:
    """Judges the answers to a recording, and asks again where there is doubt.

    It begins when all segments have been answered, so that the language of the recording is known
    and the outcome does not depend on the order of the answers.
    """

    def __init__(
        self,
        answers: Sequence[tuple[Segment, Hypothesis]],
        max_retries: int,
        *,
        is_judged: bool = True,
    ) -> None:
        """Judge.

        Args:
            answers: All segments of a recording in order of time, each with its answer.
            max_retries: How often a segment may be heard again.
            is_judged: False where no model answered.
        """
        vote = count_votes(answers)
        self._language = vote.language
        self._max_retries = max_retries
        self._next_index = -1
        self._requests: dict[int, Request] = {}
        """Under way, by the index of each piece."""
        self._trials: dict[int, list[Trial]] = {}
        self._segments = {segment.index: segment for segment, _ in answers}
        for segment, hypothesis in answers:
            expected = vote.language if segment.index in vote.outliers else None
            verdicts = judge(segment, hypothesis, expected) if is_judged else ()
            self._trials[segment.index] = [Trial(((segment, hypothesis),), (verdicts,))]

    @property
    def is_waiting(self) -> bool:
        """Whether something is being heard again."""
        return bool(self._requests)

    @property
    def outcome(self) -> Iterable[Trial]:
        """The best try at each segment, in order of time."""
        return (best_trial(trials) for trials in self._trials.values())

    def ask(self) -> list[Request]:
        """The next rung of each doubtful segment; nothing where all has been tried."""
        requests = []
        for index, trials in self._trials.items():
            if len(trials) > self._max_retries or not best_trial(trials).doubt:
                continue
            segment, (verdicts,) = self._segments[index], trials[0].verdicts
            tried = [trial.rung for trial in trials]
            rung = next_rung(segment, verdicts, tried, self._language)
            if rung is not None:
                requests.append(self._request(segment, rung))
        return requests

    def _request(self, segment: Segment, rung: Rung) -> Request:
        look = second_look(segment, rung, self._language, self._next_index)
        num_pieces = 2 if rung == "split" else 1
        self._next_index -= num_pieces
        indices = range(look.index, self._next_index, -1)
        request = Request(segment.index, rung, look, dict.fromkeys(indices))
        self._requests |= dict.fromkeys(indices, request)
        return request

    def add_piece(self, piece: Segment) -> bool:
        """Note what is heard again; False where that was given up."""
        request = self._requests.get(piece.index)
        if request is None:
            return False
        request.pieces[piece.index] = piece
        return True

    def add_answer(self, hypothesis: Hypothesis) -> None:
        """Note the answer to a piece, and judge when all have come."""
        request = self._requests.get(hypothesis.index)
        if request is None:
            return
        request.hypotheses[hypothesis.index] = hypothesis
        if len(request.hypotheses) < len(request.pieces):
            return
        pieces = tuple(
            (piece, request.hypotheses[index])
            for index, piece in request.pieces.items()
            if piece is not None
        )
        verdicts = tuple(
            judge(piece, answer, self._language_of(request)) for piece, answer in pieces
        )
        self._end(request, Trial(pieces, verdicts, request.rung))

    def give_up(self, index: int) -> None:
        """A piece cannot be heard: the rung counts as tried, and changed nothing."""
        request = self._requests.get(index)
        if request is not None:
            first = self._trials[request.first][0]
            self._end(request, Trial(first.pieces, first.verdicts, request.rung))

    def _language_of(self, request: Request) -> str | None:
        """The language that alone is believed, if the first answer was not."""
        (verdicts,) = self._trials[request.first][0].verdicts
        return self._language if "language_outlier" in verdicts else None

    def _end(self, request: Request, trial: Trial) -> None:
        for index in request.pieces:
            del self._requests[index]
        self._trials[request.first].append(trial)
