"""Log-mel features, against the ones that transformers and faster-whisper compute."""

import numpy as np
import pytest
import soundfile

from asrbatch.data import MelParams
from asrbatch.mel import log_mel, num_frames
from tests.conftest import WORDS

CLIPS = sorted(WORDS.glob("en-0*.flac"))


def features(waveform, num_mels=128):
    params = MelParams(num_mels)
    out = np.empty((num_mels, num_frames(len(waveform), params)), np.float32)
    assert log_mel(waveform, params, out) is out
    return out


def waveform(clip):
    return soundfile.read(clip, dtype="float32")[0][: 30 * 16_000]


@pytest.mark.parametrize("clip", CLIPS, ids=lambda clip: clip.stem)
def test_features_are_those_of_the_model_to_1e_4(clip):
    from transformers import Qwen3ASRFeatureExtractor

    expected = Qwen3ASRFeatureExtractor()(
        waveform(clip), sampling_rate=16_000, padding="longest", n_window=0
    )
    np.testing.assert_allclose(
        features(waveform(clip)), expected["input_features"][0].numpy(), atol=1e-4
    )


@pytest.mark.parametrize("num_samples", [16_000, 16_159, 480_000])
def test_features_of_silence_and_of_any_length_are_those_of_the_model(num_samples):
    from transformers import Qwen3ASRFeatureExtractor

    noise = np.random.default_rng(0).normal(0, 0.1, num_samples).astype(np.float32)
    for signal in (np.zeros(num_samples, np.float32), noise):
        expected = Qwen3ASRFeatureExtractor()(
            signal, sampling_rate=16_000, padding="longest", n_window=0
        )["input_features"][0].numpy()
        assert features(signal).shape == expected.shape == (128, num_samples // 160)
        np.testing.assert_allclose(features(signal), expected, atol=1e-4)


def test_features_of_80_mels_are_those_of_faster_whisper_to_1e_4():
    from faster_whisper.feature_extractor import FeatureExtractor

    padded = np.pad(waveform(CLIPS[0]), (0, 30 * 16_000))[: 30 * 16_000]
    expected = FeatureExtractor()(padded, padding=0)
    np.testing.assert_allclose(features(padded, 80), expected[:, :3000], atol=1e-4)


@pytest.mark.parametrize("num_samples", [16_000, 479_700, 479_900, 480_000])
def test_silence_after_the_waveform_need_not_be_given(num_samples):
    noise = np.random.default_rng(0).normal(0, 0.1, num_samples).astype(np.float32)
    padded = np.pad(noise, (0, 480_000 - num_samples))
    out = np.empty((80, 3000), np.float32)
    np.testing.assert_allclose(log_mel(noise, MelParams(80), out), features(padded, 80), atol=1e-6)
