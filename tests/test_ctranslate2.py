"""The embedded engine on real speech."""

import numpy as np
import pytest

from asrbatch.data import Segment, Source
from asrbatch.decode import decode
from asrbatch.engines import EngineConfig, load_engine, resolve_model
from asrbatch.probe import probe
from tests.conftest import SPEECH

pytestmark = pytest.mark.slow

CLIPS = ("austen-0880.wav", "lj20.wav", "austen-0930.wav")


@pytest.fixture(scope="module")
def engine():
    config = EngineConfig(engine="ctranslate2", batch_size=2)
    engine = load_engine(resolve_model(config), config)
    yield engine
    engine.close()


def waveform(name):
    path = SPEECH / name
    return np.concatenate(list(decode(Source(path, name), probe(path))))


def ask(engine, *names, **fields):
    for name in names:
        samples = waveform(name)
        engine.submit(Segment(name, 0, 0, len(samples), "end", **fields), samples)
    answers = []
    while engine.outstanding:
        answers += engine.step()
    return {answer.recording_id: answer for answer in answers}


def test_segments_of_many_files_go_together_and_the_batch_does_not_matter(engine):
    together = ask(engine, *CLIPS)
    assert together["austen-0930.wav"].text == "He might even have been made amiable himself."
    assert together["lj20.wav"].language == "en"
    for name in CLIPS:
        assert ask(engine, name)[name].tokens == together[name].tokens


def test_full_windows_may_be_asked_for():
    config = EngineConfig(engine="ctranslate2", short_windows=False)
    engine = load_engine(resolve_model(config), config)
    answer = ask(engine, "austen-0930.wav")["austen-0930.wav"]
    assert answer.text == "He might even have been made amiable himself."
    engine.close()


def test_a_batch_may_hold_different_contexts(engine):
    samples = waveform("austen-0930.wav")
    for i, context in enumerate((None, "Jane Austen, Sense and Sensibility", "amiable")):
        engine.submit(
            Segment(str(i), 0, 0, len(samples), "end", language="en", context=context), samples
        )
    answers = []
    while engine.outstanding:
        answers += engine.step()
    assert len(answers) == 3
    assert all("amiable himself" in answer.text for answer in answers)


def test_an_answer_that_runs_out_of_tokens_says_so():
    config = EngineConfig(engine="ctranslate2", max_new_tokens=3)
    engine = load_engine(resolve_model(config), config)
    answer = ask(engine, "austen-0930.wav")["austen-0930.wav"]
    assert answer.finish_reason == "length"
    assert len(answer.tokens) == 3
    engine.close()


def test_it_tells_which_languages_it_knows(engine):
    assert engine.languages == {"en"}
