"""Whisper's timestamps: what was heard, and where to go on."""

from dataclasses import replace

import numpy as np

from asrbatch.data import SAMPLE_RATE
from asrbatch.engines.whisper_window import Heard, hear_out, must_go_on, parse_window

BEGIN = 1000
"""Id of `<|0.00|>` here; a second is 50 ids."""


def at(seconds):
    return BEGIN + round(seconds * 50)


def heard(*tokens):
    answer = parse_window(tokens, BEGIN, -0.1)
    return answer.tokens, answer.place, answer.is_end


def test_a_single_timestamp_at_the_end_is_the_end():
    assert heard(at(0), 1, 2, at(5)) == ([1, 2], 5 * 16_000, True)


def test_an_answer_without_timestamps_does_not_say_how_far_it_goes():
    assert heard(1, 2) == ([1, 2], None, True)


def test_a_pair_at_the_end_says_where_to_go_on():
    assert heard(at(0), 1, at(2), at(2), 2, at(5), at(5)) == ([1, 2], 5 * 16_000, False)


def test_a_sentence_that_was_not_finished_is_heard_again():
    assert heard(at(0), 1, at(2), at(2), 2, 3) == ([1], 2 * 16_000, False)


def test_a_window_never_stands_still():
    assert heard(at(0), at(0), 1, 2) == ([1, 2], None, True)
    assert heard() == ([], None, True)


def speech(seconds):
    return np.random.default_rng(0).normal(0, 0.1, round(16_000 * seconds)).astype(np.float32)


def test_after_a_place_to_go_on_any_sound_is_asked_for():
    going_on = Heard([], 16_000, False, -0.1)
    assert must_go_on(going_on, speech(0.3), speech(2))
    assert not must_go_on(going_on, speech(0.1), speech(2))
    assert not must_go_on(going_on, speech(1) * 0.01, speech(2))


def test_that_nothing_follows_is_believed_unless_much_sound_does():
    ended = Heard([], 16_000, True, -0.1)
    assert not must_go_on(ended, speech(1), speech(2))
    assert must_go_on(ended, speech(2), speech(3))


def test_silence_and_an_unsaid_place_end_it():
    zeros = np.zeros(16_000, np.float32)
    assert not must_go_on(Heard([], 16_000, False, -0.1), zeros, zeros)
    assert not must_go_on(Heard([], None, True, -0.1), speech(9), speech(9))


def sound(seconds):
    return np.full(round(seconds * SAMPLE_RATE), 0.1, np.float32)


def test_an_answer_is_heard_out_where_sound_follows_its_last_word():
    rest = sound(20)
    answer = Heard([1], 20 * SAMPLE_RATE, True, -0.3)
    found = hear_out(answer, 12.0, rest, rest)
    assert (found.place, found.is_end) == (round(12.3 * SAMPLE_RATE), False)
    assert hear_out(replace(answer, place=None), 12.0, rest, rest).place == found.place


def test_an_answer_is_believed_where_nothing_follows_its_last_word():
    rest = np.concatenate([sound(12), np.zeros(8 * SAMPLE_RATE, np.float32)])
    answer = Heard([1], 20 * SAMPLE_RATE, True, -0.3)
    assert hear_out(answer, 12.0, rest, rest) is answer
    assert hear_out(answer, 19.9, sound(20), sound(20)) is answer
    assert hear_out(answer, 25.0, sound(20), sound(20)) is answer
    # Some words of it that were found at its very start would make it stand still.
    assert hear_out(answer, 0.1, sound(20), sound(20)) is answer
