"""Whisper's timestamps: what was heard, and where to go on."""

import numpy as np

from asrbatch.engines.whisper_window import is_audible, parse_window

BEGIN = 1000
"""Id of `<|0.00|>` here; a second is 50 ids."""


def at(seconds):
    return BEGIN + round(seconds * 50)


def test_a_window_heard_to_its_end_is_done():
    assert parse_window([at(0), 1, 2, at(5)], BEGIN) == ([1, 2], None)


def test_an_answer_without_timestamps_is_done():
    assert parse_window([1, 2], BEGIN) == ([1, 2], None)


def test_a_pair_at_the_end_says_where_to_go_on():
    assert parse_window([at(0), 1, at(2), at(2), 2, at(5), at(5)], BEGIN) == ([1, 2], 5 * 16_000)


def test_a_sentence_that_was_not_finished_is_heard_again():
    assert parse_window([at(0), 1, at(2), at(2), 2, 3], BEGIN) == ([1], 2 * 16_000)


def test_a_window_never_stands_still():
    assert parse_window([at(0), at(0), 1, 2], BEGIN) == ([1, 2], None)


def test_only_sound_is_asked_for_again():
    speech = np.random.default_rng(0).normal(0, 0.1, 16_000).astype(np.float32)
    assert is_audible(speech, speech)
    assert not is_audible(speech * 0.01, speech)
    assert not is_audible(speech[:1000], speech)
    assert not is_audible(np.zeros(0, np.float32), speech)
    assert not is_audible(np.zeros(16_000, np.float32), np.zeros(16_000, np.float32))
