"""Verdicts on hypotheses: what is caught, and no false alarm on what was really said."""

import json

import pytest

from asrbatch.data import SAMPLE_RATE, Hypothesis, Segment
from asrbatch.guard import is_echo, is_loop, is_too_fast, judge
from tests.conftest import SPEECH, WORDS, references

SENTENCE = "the committee then turned to the budget for the coming year and heard the treasurer "


def verdicts(text, language="en", seconds=20.0, context=None, reason="stop"):
    segment = Segment("a.wav", 0, 0, round(seconds * SAMPLE_RATE), "end", context=context)
    return judge(segment, Hypothesis("a.wav", 0, text, language, reason, (), 0.1))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("thank you. " * 12, "en"),
        ("So we go on. " + "And then, " * 9, "en"),
        (SENTENCE * 6, "en"),
        ("well " + "a" * 60, "en"),
        ("hahahahahahahahahahahahahahaha", "en"),
        ("谢谢大家" * 10, "zh"),
        ("嗯" * 30, "zh"),
        ("ご視聴ありがとうございました" * 6, "ja"),
    ],
)
def test_what_is_said_over_and_over_is_a_loop(text, language):
    assert is_loop(text, language)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("", None),
        ("No, no, no, no! I said no.", "en"),
        ("ha ha ha ha ha ha", "en"),
        ("zero zero zero zero seven", "en"),
        (SENTENCE * 2, "en"),
        ("1000000000", "en"),
        ("对对对对对,就是这样。", "zh"),
        (
            "Row, row, row your boat, gently down the stream, merrily, merrily, merrily, merrily",
            "en",
        ),
    ],
)
def test_emphasis_and_refrains_are_no_loops(text, language):
    assert not is_loop(text, language)


def test_more_than_can_be_spoken_is_too_fast():
    assert is_too_fast("one two three four five six seven eight nine ten " * 3, "en", 2.0)
    assert not is_too_fast("she sells sea shells by the sea shore", "en", 1.2)
    assert is_too_fast("今天天气很好我们去公园走走吧因为明天会下雨", "zh", 1.2)
    assert not is_too_fast("今天天气很好", "zh", 1.0)
    assert not is_too_fast("Donaudampfschifffahrt", "de", 0.2)


def test_a_context_given_back_is_an_echo():
    context = "Jane Austen, Sense and Sensibility.\nElinor, Marianne, 达什伍德夫人"
    assert is_echo("sense and sensibility, Elinor, Marianne", context)
    assert is_echo("达什伍德夫人", context)
    assert not is_echo("Jane Austen", context)
    assert not is_echo("Marianne spoke of sense and sensibility", context)
    assert not is_echo("sense and sensibility, Elinor", None)


def test_each_verdict_has_its_name():
    assert verdicts("well said") == ()
    assert verdicts("well", reason="length") == ("length",)
    assert verdicts("you know " * 20) == ("loop",)
    assert verdicts(SENTENCE, seconds=1.0) == ("rate",)
    assert verdicts(SENTENCE, context=f"Minutes: {SENTENCE}") == ("context_echo",)


@pytest.mark.parametrize("limit_s", [5, 30])
def test_no_alarm_on_anything_that_was_really_said(limit_s):
    for path in sorted(WORDS.glob("*.words.json")):
        spoken = json.loads(path.read_text(encoding="utf-8"))
        for begin_s in range(0, int(spoken[-1]["end_s"]), limit_s):
            words = [w for w in spoken if begin_s <= w["start_s"] < begin_s + limit_s]
            if not words:
                continue
            language = words[0]["language"]
            text = ("" if language == "zh" else " ").join(w["word"] for w in words)
            assert verdicts(text, language, limit_s) == (), f"{path.name} at {begin_s} s: {text}"
    for (name, _), text in references(SPEECH).items():
        assert verdicts(text, "en", 12.0) == (), name
