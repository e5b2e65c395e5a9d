"""Doubtful segments are heard again, another way; what stays doubtful is flagged.

The engine is scripted, since no real model errs on demand; everything else is real.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import soundfile

from asrbatch.data import SAMPLE_RATE, Hypothesis, Segment
from asrbatch.guard import Trial, best_trial, count_votes, next_rung, second_look
from asrbatch.options import build_config
from asrbatch.pipeline import Run
from tests.conftest import SPEECH
from tests.fake_engine import FakeEngine

CONTEXT = "Minutes of the committee on roads and bridges"
LOOP = "thank you very much " * 20
RIGHT = "the committee met"


class ScriptedEngine(FakeEngine):
    """Answers as it is told by a function of the segment."""

    def __init__(self, answer):
        super().__init__()
        self.told = answer
        self.heard = []

    def submit(self, segment, audio):
        super().submit(segment, audio)
        self.heard.append((segment, np.array(audio)))

    def answer(self, segment):
        return {"text": RIGHT} | self.told(segment)


@pytest.fixture
def speech(tmp_path):
    """Six clips of speech with 0.5 s between them, in one file: 80 s."""
    clips = [soundfile.read(SPEECH / f"austen-08{n}0.wav", dtype="float32")[0] for n in (7, 8, 9)]
    gap = np.zeros(SAMPLE_RATE // 2, np.float32)
    folder = tmp_path / "in"
    folder.mkdir()
    waveform = np.concatenate([piece for clip in clips * 4 for piece in (clip, gap)])
    soundfile.write(folder / "a.wav", waveform, SAMPLE_RATE)
    return folder


def transcribe(folder, answer, **options):
    engine = ScriptedEngine(answer)
    options = {"engine": "ctranslate2", "chunk_seconds": 10, "context": CONTEXT} | options
    run = Run(build_config(folder, options), engine)
    (transcript,) = run
    return transcript, engine, run.stats


def third(segment):
    """Whether a segment is the third one as it was cut first."""
    return segment.index == 2


WRONG = {
    "loop": {"text": LOOP},
    "length": {"finish_reason": "length"},
    "rate": {"text": "and so the road went on and on over hill and dale " * 30},
    "context_echo": {"text": CONTEXT},
    "empty_on_speech": {"text": ""},
    "language_outlier": {"text": "wir danken", "language": "de"},
}


@pytest.mark.parametrize("verdict", WRONG)
def test_a_wrong_answer_is_caught_and_the_right_one_taken(verdict, speech):
    transcript, engine, stats = transcribe(speech, lambda s: WRONG[verdict] if third(s) else {})
    assert stats.retries == 1
    assert {segment.text for segment in transcript.segments} == {RIGHT}
    assert transcript.flags == ("retried",)
    retried = [segment for segment in transcript.segments if segment.flags]
    assert len(retried) == (2 if verdict not in {"context_echo", "language_outlier"} else 1)
    bounds = [(segment.start_s, segment.end_s) for segment in transcript.segments]
    assert all(left[1] == right[0] for left, right in pairwise(bounds))
    assert stats.needs_review == []
    assert engine.outstanding == 0


@pytest.mark.parametrize("verdict", sorted(WRONG.keys() - {"context_echo"}))
def test_what_stays_wrong_keeps_its_flag_and_is_listed(verdict, speech):
    wrong = WRONG[verdict]
    transcript, _, stats = transcribe(speech, lambda s: wrong if third(s) or s.index < 0 else {})
    assert stats.retries == 2
    assert set(transcript.flags) >= {verdict, "needs_review"}
    assert stats.needs_review == ["a.wav"]
    (flagged,) = [segment for segment in transcript.segments if verdict in segment.flags]
    assert flagged.text == wrong.get("text", RIGHT).strip()


def test_a_context_that_is_heard_without_being_given_was_said(speech):
    wrong = WRONG["context_echo"]
    transcript, _, stats = transcribe(speech, lambda s: wrong if third(s) or s.index < 0 else {})
    assert (stats.retries, transcript.flags) == (1, ("retried",))
    assert CONTEXT in transcript.text


def test_an_echo_is_heard_again_without_the_context(speech):
    _, engine, _ = transcribe(speech, lambda s: {"text": CONTEXT} if third(s) else {})
    assert [s.context for s, _ in engine.heard if s.index < 0] == [None]


def test_an_outlier_is_heard_again_in_the_language_of_the_others(speech):
    _, engine, _ = transcribe(speech, lambda s: {"language": "de"} if third(s) else {})
    assert [s.language for s, _ in engine.heard if s.index < 0] == ["en"]


def test_what_is_heard_again_is_what_was_heard(speech):
    _, engine, _ = transcribe(speech, lambda s: {"text": CONTEXT} if third(s) else {})
    heard = {segment.index: audio for segment, audio in engine.heard}
    np.testing.assert_array_equal(heard[2], heard[-1])


def test_two_halves_are_the_whole(speech):
    _, engine, _ = transcribe(speech, lambda s: {"text": LOOP} if third(s) else {})
    heard = {segment.index: audio for segment, audio in engine.heard}
    np.testing.assert_array_equal(np.concatenate([heard[-1], heard[-2]]), heard[2])


def test_without_retries_the_flag_stays(speech):
    transcript, engine, stats = transcribe(
        speech, lambda s: {"text": LOOP} if third(s) else {}, max_retries=0
    )
    assert stats.retries == 0
    assert transcript.flags == ("loop", "needs_review", "rate")
    assert all(segment.index >= 0 for segment, _ in engine.heard)


def test_a_file_that_is_gone_keeps_its_first_text(speech):
    def answer(segment):
        if third(segment):
            (speech / "a.wav").unlink()
            return {"text": LOOP}
        return {}

    transcript, _, _ = transcribe(speech, answer)
    assert "loop" in transcript.flags
    assert transcript.text.count(RIGHT) == len(transcript.segments) - 1


@pytest.mark.slow
def test_many_recordings_are_reviewed_beside_each_other(speech):
    content = (speech / "a.wav").read_bytes()
    for i in range(5):
        # Different contents: copies would be heard once.
        (speech / f"{i}.wav").write_bytes(content + bytes(2 * i + 2))
    engine = ScriptedEngine(lambda s: {"text": LOOP} if s.index in {0, 3} else {})
    options = {"engine": "ctranslate2", "chunk_seconds": 10, "workers": 2}
    transcripts = list(Run(build_config(speech, options), engine))
    assert len(transcripts) == 6
    assert {t.flags for t in transcripts} == {("retried",)}


def test_no_answer_of_the_null_engine_is_doubted(speech):
    run = Run(build_config(speech, {"engine": "null", "chunk_seconds": 10}))
    (transcript,) = run
    assert (transcript.flags, run.stats.retries) == ((), 0)


def segment(index=0, seconds=10.0, spoken=8.0, **fields):
    num_samples, speech_samples = round(seconds * SAMPLE_RATE), round(spoken * SAMPLE_RATE)
    fields = {"cut": "pause", "speech_samples": speech_samples} | fields
    return Segment("a.wav", index, index * num_samples, num_samples, **fields)


def said(language, text="well"):
    return Hypothesis("a.wav", 0, text, language, "stop", (), 0.0)


def vote(*languages, seconds=10.0):
    answers = [
        (segment(i, seconds, seconds), said(language)) for i, language in enumerate(languages)
    ]
    return count_votes(answers)


def test_one_among_many_is_an_outlier():
    found = vote(*["en"] * 9, "de", *["en"] * 5)
    assert (found.language, found.outliers) == ("en", {9})


def test_a_true_switch_is_believed():
    found = vote(*["en"] * 20, "de", "de", *["en"] * 5)
    assert (found.language, found.outliers) == ("en", set())


def test_short_neighbours_are_not_believed():
    found = vote(*["en"] * 20, "de", "de", seconds=2.0)
    assert found.outliers == {20, 21}


def test_two_languages_have_no_outliers():
    assert vote("en", "de", "en", "de", "en").language is None
    assert vote("en", "de").language is None
    assert vote().language is None


def test_silence_and_forced_languages_do_not_vote():
    answers = [(segment(i), said("en")) for i in range(5)]
    answers += [(segment(5), said(None, "")), (segment(6, language="de"), said("de"))]
    assert count_votes(answers) == count_votes(answers[:5])


@pytest.mark.parametrize(
    ("verdicts", "tried", "rung"),
    [
        (("loop",), [], "split"),
        (("length",), ["split"], "no_context"),
        (("rate",), ["split", "no_context"], "language"),
        (("loop",), ["split", "no_context", "language"], "temperature"),
        (("loop",), ["split", "no_context", "language", "temperature"], None),
        (("context_echo",), [], "no_context"),
        (("context_echo",), ["no_context"], "split"),
        (("language_outlier",), [], "language"),
    ],
)
def test_each_verdict_has_its_rungs(verdicts, tried, rung):
    assert next_rung(segment(context="roads"), verdicts, [None, *tried], "en") == rung


def test_rungs_that_cannot_help_are_passed_over():
    assert next_rung(segment(seconds=3.0), ("loop",), [None], None) == "temperature"
    assert next_rung(segment(language="en"), ("loop",), [None, "split"], "de") == "temperature"
    assert next_rung(segment(spoken=0.0), ("text_on_silence",), [None], "en") is None


def test_each_rung_changes_one_thing():
    first = segment(context="roads")
    assert second_look(first, "split", "en", -1) == replace(first, index=-1)
    assert second_look(first, "no_context", "en", -1) == replace(first, index=-1, context=None)
    assert second_look(first, "language", "en", -1) == replace(first, index=-1, language="en")
    assert second_look(first, "temperature", "en", -1).temperature > 0


def test_the_trial_with_the_least_against_it_wins_and_of_equals_the_first():
    def trial(*verdicts, rung=None):
        pieces = tuple((segment(i), said("en")) for i in range(len(verdicts)))
        return Trial(pieces, verdicts, rung)

    first = trial(("loop", "length"))
    assert best_trial([first, trial(("loop",), ("loop",), rung="split")]).rung == "split"
    assert best_trial([trial(("loop",)), trial(("length",), rung="temperature")]).rung is None
    assert best_trial([first, trial((), rung="split"), trial((), rung="language")]).rung == "split"
