"""The cutter: at most the limit, to the sample, at pauses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asrbatch.cut import cut, find_cut
from asrbatch.data import SAMPLE_RATE
from asrbatch.errors import ConfigError

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
    blocks = (signal[i : i + block] for i in range(0, len(signal), block))
    spans = list(cut(blocks, limit))
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
        [s.start_sample for s in cut((signal[i : i + n] for i in range(0, len(signal), n)), LIMIT)]
        for n in (one, other)
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
    spans = list(cut([signal], LIMIT))
    assert len(spans[0].waveform) <= LIMIT


def test_a_recording_of_the_limit_is_one_span():
    assert [s.cut for s in cut([noise(LIMIT)], LIMIT)] == ["end"]


def test_silence_is_cut_too():
    spans = list(cut([np.zeros(5 * LIMIT, np.float32)], LIMIT))
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

    next(cut(blocks(), LIMIT))
    assert taken == 3


def test_a_limit_too_short_for_a_pause_is_refused():
    with pytest.raises(ConfigError, match="at least 2"):
        next(cut([noise(10)], SAMPLE_RATE))
