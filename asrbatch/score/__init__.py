"""Holds results against references: word and character error rates, as the field counts them."""

from asrbatch.score.scores import Score, score_results

__all__ = ["Score", "score_results"]
