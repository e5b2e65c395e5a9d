"""Stitching: words are neither glued nor torn."""

import pytest

from asrbatch.data import Hypothesis, Segment, TranscriptSegment
from asrbatch.stitch import join_texts, main_language, stitch_segment


def segment(text, language=None, seconds=1.0):
    return TranscriptSegment(0.0, seconds, text, language, "end")


def hypothesis(index, text, reason="stop"):
    return Hypothesis("a.wav", index, text, "en", reason, (1, 2), 0.1)


def test_a_segment_and_its_hypothesis_become_one():
    found = stitch_segment(
        Segment("a.wav", 1, 16_000, 8_000, "pause"), hypothesis(1, " la la "), ("length",)
    )
    assert found == TranscriptSegment(1.0, 1.5, "la la", "en", "pause", ("length",))


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
