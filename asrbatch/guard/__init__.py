"""Judges what the engine says, and knows how to ask again."""

from asrbatch.guard.ladder import Rung, Trial, best_trial, next_rung, second_look
from asrbatch.guard.verdicts import is_echo, is_loop, is_too_fast, judge
from asrbatch.guard.vote import Vote, count_votes

__all__ = [
    "Rung",
    "Trial",
    "Vote",
    "best_trial",
    "count_votes",
    "is_echo",
    "is_loop",
    "is_too_fast",
    "judge",
    "next_rung",
    "second_look",
]
