"""The cutter: at most the limit, to the sample, at pauses."""

import json

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from asrbatch.cut import cut, find_cut, split
from asrbatch.data import SAMPLE_RATE, Block
from asrbatch.errors import ConfigError
from asrbatch.speech import take_all
from tests.conftest import WORDS, in_blocks

LIMIT = 2 * SAMPLE_RATE


def noise(num_samples, seed=0, level=0.1):
    rng = np.random.default_rng(seed)
    return rng.normal(0, level, num_samples).astype(np.float32)


@st.composite
def signals(draw):
    """Bursts of noise and silence of random lengths."""
    lengths = draw(st.lists(st.integers(1, 3 * SAMPLE_RATE), min_size=1, max_size=8))
    levels = [draw(st.sampled_from([0.0, 1e-5, 0.01, 0.5])) for _ in lengths]
    parts = [noise(n, i, level) for i, (n, level) in enumerate(zip(lengths, levels, strict=True))]
    return np.concatenate(parts)


@given(signals(), st.integers(1, 5 * SAMPLE_RATE), st.integers(LIMIT, 3 * LIMIT))
def test_spans_tile_the_signal_to_the_sample(signal, block, limit):
    spans = list(cut(take_all(in_blocks(signal, block)), limit))
    assert [s.start_sample for s in spans] == [
        sum(len(s.waveform) for s in spans[:i]) for i in range(len(spans))
    ]
    np.testing.assert_array_equal(np.concatenate([s.waveform for s in spans]), signal)
    assert all(0 < len(s.waveform) <= limit for s in spans)
    assert [s.cut for s in spans][-1] == "end"
    assert all(s.cut in {"pause", "quiet"} for s in spans[:-1])


@given(signals(), st.integers(1, 5 * SAMPLE_RATE), st.integers(1, 5 * SAMPLE_RATE))
def test_the_size_of_the_blocks_does_not_matter(signal, one, other):
    ends = [
        [s.start_sample for s in cut(take_all(in_blocks(signal, n)), LIMIT)] for n in (one, other)
    ]
    assert ends[0] == ends[1]


def test_it_cuts_in_the_middle_of_a_pause():
    signal = noise(3 * SAMPLE_RATE)
    signal[24_000:28_000] = 0
    at, reason = find_cut(signal[:LIMIT])
    assert reason == "pause"
    assert at == pytest.approx(26_000, abs=320)


def test_it_takes_the_quietest_moment_where_there_is_no_pause():
    signal = noise(LIMIT)
    signal[25_600:27_200] *= 0.5
    at, reason = find_cut(signal)
    assert reason == "quiet"
    assert at == pytest.approx(26_400, abs=320)


def test_it_never_searches_beyond_the_limit():
    signal = noise(LIMIT + 4000)
    signal[LIMIT : LIMIT + 4000] = 0
    spans = list(cut(take_all([signal]), LIMIT))
    assert len(spans[0].waveform) <= LIMIT


def test_a_recording_of_the_limit_is_one_span():
    assert [s.cut for s in cut(take_all([noise(LIMIT)]), LIMIT)] == ["end"]


def test_silence_is_cut_too():
    spans = list(cut(take_all([np.zeros(5 * LIMIT, np.float32)]), LIMIT))
    assert sum(len(s.waveform) for s in spans) == 5 * LIMIT


def test_no_samples_give_no_span():
    assert list(cut([], LIMIT)) == []


def test_it_holds_no_more_than_a_span_and_a_block():
    taken = 0

    def blocks():
        nonlocal taken
        for i in range(100):
            taken += 1
            yield noise(SAMPLE_RATE, i)

    next(cut(take_all(blocks()), LIMIT))
    assert taken == 3


def test_a_limit_too_short_for_a_pause_is_refused():
    with pytest.raises(ConfigError, match="at least 2"):
        next(cut([noise(10)], SAMPLE_RATE))


def test_a_span_ends_where_something_is_left_out():
    voice = np.ones(SAMPLE_RATE, bool)
    blocks = [Block(i * 100_000, noise(SAMPLE_RATE, i), voice) for i in range(3)]
    spans = list(cut(blocks, LIMIT))
    assert [(s.start_sample, s.cut, s.speech_samples) for s in spans] == [
        (0, "pause", SAMPLE_RATE),
        (100_000, "pause", SAMPLE_RATE),
        (200_000, "end", SAMPLE_RATE),
    ]


def test_in_noise_it_cuts_where_no_speech_was_found():
    signal = noise(LIMIT)
    is_speech = np.ones(LIMIT, bool)
    is_speech[22_400:27_200] = False
    assert find_cut(signal)[1] == "quiet"
    at, reason = find_cut(signal, is_speech)
    assert reason == "pause"
    assert 22_400 < at < 27_200


def test_speech_is_counted_to_the_sample():
    is_speech = np.arange(3 * LIMIT) % 3 == 0
    spans = list(cut([Block(0, noise(3 * LIMIT), is_speech)], LIMIT))
    assert sum(s.speech_samples for s in spans) == is_speech.sum()


def test_two_halves_tile_a_segment_and_meet_in_its_best_inner_pause():
    signal = noise(4 * SAMPLE_RATE)
    signal[28_000:32_000] = 0
    first, second = split(signal, np.ones(len(signal), bool))
    assert first.cut == "pause"
    assert second.start_sample == len(first.waveform) == pytest.approx(30_000, abs=320)
    np.testing.assert_array_equal(np.concatenate([first.waveform, second.waveform]), signal)
    assert first.speech_samples + second.speech_samples == len(signal)


@pytest.mark.parametrize("limit_s", [10, 15, 30])
@pytest.mark.parametrize("name", ["long-en", "long-zh", "long-switch"])
def test_no_cut_is_in_a_word(name, limit_s):
    words = json.loads((WORDS / f"{name}.words.json").read_text("utf-8"))
    waveform, _ = soundfile.read(WORDS / f"{name}.flac", dtype="float32")
    spans = list(cut(take_all([waveform]), limit_s * SAMPLE_RATE))
    cuts_s = [span.start_sample / SAMPLE_RATE for span in spans[1:]]
    assert not [at for at in cuts_s for w in words if w["start_s"] < at < w["end_s"]]
    assert {span.cut for span in spans[:-1]} == {"pause"}
