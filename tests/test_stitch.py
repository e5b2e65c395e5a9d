"""Stitching: the order of arrival does not matter, and words are neither glued nor torn."""

from random import Random

import pytest

from asrbatch.data import Hypothesis, Segment, TranscriptSegment
from asrbatch.stitch import join_texts, main_language, stitch_segments


def segment(text, language=None, seconds=1.0):
    return TranscriptSegment(0.0, seconds, text, language, "end")


def hypothesis(index, text, reason="stop"):
    return Hypothesis("a.wav", index, text, "en", reason, (1, 2), 0.1)


def test_the_order_of_arrival_does_not_matter():
    segments = [Segment("a.wav", i, i * 16_000, 16_000, "pause") for i in range(5)]
    hypotheses = [hypothesis(i, f"word{i}") for i in range(5)]
    Random(1).shuffle(hypotheses)
    Random(2).shuffle(segments)
    stitched = stitch_segments(
        segments, {h.index: h for h in hypotheses}, dict.fromkeys(range(5), ())
    )
    assert join_texts(stitched) == "word0 word1 word2 word3 word4"
    assert [(s.start_s, s.end_s) for s in stitched] == [(i, i + 1) for i in range(5)]


def test_what_speaks_against_a_hypothesis_stays_with_its_segment():
    (stitched,) = stitch_segments(
        [Segment("a.wav", 0, 0, 16_000, "end")], {0: hypothesis(0, "la la")}, {0: ("length",)}
    )
    assert stitched.flags == ("length",)


@pytest.mark.parametrize(
    ("left", "right", "joined"),
    [
        (segment("one", "en"), segment("two", "en"), "one two"),
        (segment("你好", "zh"), segment("世界", "zh"), "你好世界"),
        (segment("今日は", "ja"), segment("晴れ。", "ja"), "今日は晴れ。"),
        (segment("สวัสดี", "th"), segment("ครับ", "th"), "สวัสดีครับ"),
        (segment("안녕", "ko"), segment("세계", "ko"), "안녕 세계"),
        (segment("你好", "zh"), segment("world", "en"), "你好 world"),
        (segment("你好"), segment("世界"), "你好世界"),
        (segment("用 Python", "zh"), segment("写的", "zh"), "用 Python写的"),
        (segment("用 Python", "zh"), segment("API", "zh"), "用 Python API"),
        (segment("", None), segment("two", "en"), "two"),
        (segment("one", "en"), segment("", None), "one"),
    ],
)
def test_joining_follows_the_writing(left, right, joined):
    assert join_texts([left, right]) == joined


def test_the_main_language_is_that_of_most_seconds():
    segments = [segment("a", "en", 2), segment("b", "zh", 3), segment("", None, 9)]
    assert main_language(segments) == "zh"
    assert main_language([segment("", None)]) is None
