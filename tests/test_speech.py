"""Speech is found, the rest is left out and accounted for, whatever the blocks."""

from itertools import pairwise

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from asrbatch.data import SAMPLE_RATE, SpeechParams
from asrbatch.errors import ConfigError
from asrbatch.options import build_config
from asrbatch.speech import FRAME_SAMPLES, PAD_FRAMES, Detector, _Gate, find_speech, take_all
from tests.conftest import SPEECH, in_blocks
from tests.sounds import WITHOUT_SPEECH

PARAMS = SpeechParams()
FRAMES_PER_S = SAMPLE_RATE / FRAME_SAMPLES


def read(name):
    return soundfile.read(SPEECH / name, dtype="float32")[0]


def silence(seconds):
    return np.zeros(round(seconds * SAMPLE_RATE), np.float32)


def bounds(blocks):
    """First and last sample of each stretch that is kept."""
    stretches = []
    for block in blocks:
        end = block.start_sample + len(block.waveform)
        if stretches and stretches[-1][1] == block.start_sample:
            stretches[-1][1] = end
        else:
            stretches.append([block.start_sample, end])
    return stretches


@pytest.mark.parametrize("name", WITHOUT_SPEECH)
def test_nothing_is_kept_of_a_recording_without_speech(name):
    assert list(find_speech([WITHOUT_SPEECH[name]()], PARAMS)) == []


@pytest.mark.parametrize("name", ["austen-0870.wav", "austen-0890.wav", "austen-0930.wav"])
def test_speech_is_kept_whole(name):
    waveform = read(name)
    blocks = list(find_speech([waveform], PARAMS))
    np.testing.assert_array_equal(np.concatenate([b.waveform for b in blocks]), waveform)
    assert all(len(b.is_speech) == len(b.waveform) for b in blocks)
    assert np.mean(np.concatenate([b.is_speech for b in blocks])) > 0.7


@pytest.mark.parametrize("gain", [0.1, 0.01, 0.002])
@pytest.mark.parametrize("offset", [0.0, 0.1, -0.5])
def test_speech_is_found_however_quiet_and_beside_zero(gain, offset):
    waveform = (read("austen-0870.wav") * gain + offset).astype(np.float32)
    kept = sum(len(block.waveform) for block in find_speech([waveform], PARAMS))
    assert kept == len(waveform)


@pytest.mark.parametrize("field", ["min_silence", "max_retries", "vad_threshold"])
@pytest.mark.parametrize("value", [-1, 10**300, float("inf"), float("nan")])
def test_values_that_cannot_be_are_refused(field, value, tmp_path):
    with pytest.raises(ConfigError, match=field.replace("_", " ")):
        build_config(tmp_path, {field: value})


def test_a_long_silence_is_left_out_but_for_its_edges():
    clip = read("austen-0920.wav")
    recording = np.concatenate([silence(4), clip, silence(5), clip, silence(3)])
    (first, second) = bounds(find_speech(in_blocks(recording, 16_000), PARAMS))
    at = [4, 4 + len(clip) / SAMPLE_RATE, 9 + len(clip) / SAMPLE_RATE]
    assert first == [pytest.approx(s * SAMPLE_RATE, abs=0.5 * SAMPLE_RATE) for s in at[:2]]
    assert second[0] == pytest.approx(at[2] * SAMPLE_RATE, abs=0.5 * SAMPLE_RATE)


def test_a_short_silence_stays():
    clip = read("austen-0920.wav")
    recording = np.concatenate([silence(1.5), clip, silence(1.2), clip, silence(1.5)])
    blocks = list(find_speech([recording], PARAMS))
    np.testing.assert_array_equal(np.concatenate([b.waveform for b in blocks]), recording)


def test_a_short_recording_without_speech_is_kept_and_known_to_hold_none():
    (block,) = find_speech([silence(1.5)], PARAMS)
    assert len(block.waveform) == 24_000
    assert not block.is_speech.any()


@given(st.lists(st.integers(1, 40_000), min_size=1, max_size=20))
@settings(max_examples=10, deadline=None)
def test_the_size_of_the_blocks_does_not_matter(sizes):
    clip = read("lj20.wav")
    recording = np.concatenate([clip, silence(3), clip])
    edges = np.cumsum(sizes) % len(recording)
    pieces = np.split(recording, np.unique(edges))
    one, other = (bounds(find_speech(b, PARAMS)) for b in ([recording], pieces))
    assert one == other


def labels(runs):
    """Probabilities of runs of frames, speech and silence by turns."""
    return np.concatenate([np.full(n, 0.9 * (i % 2), np.float32) for i, n in enumerate(runs)])


@given(st.lists(st.integers(1, 200), min_size=1, max_size=12), st.integers(1, 300), st.data())
def test_what_is_kept_and_what_is_left_out_tile_the_recording(runs, call, data):
    probabilities = labels(runs)
    num_samples = len(probabilities) * FRAME_SAMPLES - data.draw(st.integers(0, FRAME_SAMPLES - 1))
    waveform = np.arange(num_samples, dtype=np.float32)
    gate = _Gate(PARAMS)
    kept = []
    for first in range(0, len(probabilities), call):
        samples = slice(first * FRAME_SAMPLES, (first + call) * FRAME_SAMPLES)
        kept += gate.take(waveform[samples], probabilities[first : first + call])
    kept += gate.finish()
    for block in kept:
        end = block.start_sample + len(block.waveform)
        np.testing.assert_array_equal(block.waveform, waveform[block.start_sample : end])
    stretches = bounds(kept)
    assert stretches == sorted(stretches)
    gaps = [(last, first) for (_, last), (first, _) in pairwise(stretches)]
    least = PARAMS.min_silence_samples - 2 * PAD_FRAMES * FRAME_SAMPLES
    assert all(first - last > least for last, first in gaps)
    is_kept = np.zeros(num_samples, bool)
    for first, last in stretches:
        is_kept[first:last] = True
    is_speech = np.repeat(probabilities > 0.5, FRAME_SAMPLES)[:num_samples]
    assert is_kept[is_speech].all()
    assert sum(int(b.is_speech.sum()) for b in kept) == is_speech.sum()


def test_the_detector_is_the_published_one():
    from faster_whisper.vad import get_vad_model

    clip = read("austen-0870.wav")
    clip = clip[: len(clip) // FRAME_SAMPLES * FRAME_SAMPLES]
    detector, size = Detector(), 100 * FRAME_SAMPLES
    ours = np.concatenate([detector.probabilities(piece) for piece in in_blocks(clip, size)])
    theirs = get_vad_model()(clip).reshape(-1)
    # It loses the last 64 samples of the last frame.
    np.testing.assert_allclose(ours[:-1], theirs[:-1], atol=1e-4)


def test_without_the_detector_everything_is_kept():
    blocks = list(take_all([silence(1), silence(2)]))
    assert [(b.start_sample, len(b.waveform), b.is_speech) for b in blocks] == [
        (0, 16_000, None),
        (16_000, 32_000, None),
    ]
