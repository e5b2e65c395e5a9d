"""Channels that are heard apart, and those that only repeat another one."""

import numpy as np
import pytest
import soundfile

from asrbatch.channels import find_echoes
from asrbatch.data import SAMPLE_RATE, Failure, Segment
from asrbatch.errors import ConfigError
from asrbatch.options import build_config
from asrbatch.pipeline import Run
from asrbatch.pipeline.assembly import count_covered
from tests.conftest import SPEECH, asrbatch, read_jsonl, references
from tests.scoring import word_error_rate

STEREO = SPEECH / "stereo_diarization.wav"


def clip(name):
    return soundfile.read(SPEECH / name, dtype="float32")[0]


def two_voices():
    """Two readings of 12 s, one on each channel."""
    left = np.concatenate([clip("austen-0870.wav"), clip("austen-0890.wav")])
    right = np.concatenate(
        [clip("austen-0920.wav"), clip("austen-0930.wav"), clip("austen-0880.wav")]
    )
    length = min(len(left), len(right))
    return left[:length], right[:length]


def delayed(waveform, samples):
    return np.concatenate([np.zeros(samples, np.float32), waveform[:-samples]])


def with_noise(waveform, level):
    rms = np.sqrt(np.mean(waveform**2))
    noise = np.random.default_rng(0).normal(0, level * rms, len(waveform))
    return (waveform + noise).astype(np.float32)


def test_two_voices_are_no_echoes_of_each_other():
    assert find_echoes([[channel] for channel in two_voices()]) == set()


@pytest.mark.parametrize(
    ("change", "echo"),
    [
        (lambda left: left, 1),
        (lambda left: 0.1 * left, 1),
        (lambda left: 3 * left, 0),
        (lambda left: -left, 1),
        (lambda left: delayed(left, 800), 1),
        (lambda left: with_noise(delayed(0.3 * left, 160), 0.5), 1),
    ],
)
def test_a_channel_that_repeats_the_other_is_an_echo(change, echo):
    left, _ = two_voices()
    assert find_echoes([[left], [change(left)]]) == {echo}


def test_a_voice_with_some_of_the_other_in_it_is_none():
    left, right = two_voices()
    assert find_echoes([[left], [right + 0.2 * left]]) == set()


def test_a_silent_channel_is_no_echo():
    left, _ = two_voices()
    assert find_echoes([[left], [np.zeros_like(left)]]) == set()


def test_of_three_that_are_alike_one_stays():
    left, right = two_voices()
    assert find_echoes([[left], [left], [right], [0.5 * left]]) == {1, 3}


def transcribe(path, **options):
    run = Run(build_config(path, {"engine": "ctranslate2", **options}))
    (transcript,) = run
    return transcript


@pytest.mark.slow
def test_each_channel_of_a_dialogue_is_heard_and_they_are_merged_by_time(tmp_path):
    done = asrbatch(
        "transcribe", STEREO, "--engine", "ctranslate2", "--channels", "split", "--quiet",
        "--out", tmp_path / "results.jsonl",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (row,) = read_jsonl(tmp_path / "results.jsonl")
    texts = {segment["channel"]: segment["text"] for segment in row["segments"]}
    wanted = references(SPEECH)
    for channel in (0, 1):
        assert word_error_rate([(wanted[STEREO.name, channel], texts[channel])]) <= 0.1
    starts = [segment["start_s"] for segment in row["segments"]]
    assert starts == sorted(starts)
    assert row["channel"] is None
    assert row["speech_s"] + row["skipped_s"] == row["duration_s"]


def test_an_echo_is_left_out_with_a_note(tmp_path):
    left, _ = two_voices()
    path = tmp_path / "a.wav"
    soundfile.write(path, np.stack([left, 0.5 * left], axis=1), SAMPLE_RATE)
    (found,) = Run(build_config(path, {"engine": "null", "channels": "split"}))
    assert {segment.channel for segment in found.segments} == {0}
    assert found.flags == ("echo_channel",)


def test_a_file_of_one_channel_has_nothing_to_split():
    (found,) = Run(
        build_config(SPEECH / "austen-0870.wav", {"engine": "null", "channels": "split"})
    )
    assert {segment.channel for segment in found.segments} == {None}


@pytest.mark.slow
def test_one_channel_is_heard_by_its_number():
    (found,) = Run(build_config(STEREO, {"engine": "null", "channels": 1}))
    assert (found.channel, found.id.endswith("#c1")) == (1, True)
    (failure,) = Run(build_config(STEREO, {"engine": "null", "channels": "2"}))
    assert isinstance(failure, Failure)
    assert "channel 2" in failure.message


@pytest.mark.parametrize("value", ["left", "-1", "1.5", "", True, 1.0, [0], -1, 10**9])
def test_a_channel_that_cannot_be_is_refused(value, tmp_path):
    with pytest.raises(ConfigError, match="channels"):
        build_config(tmp_path, {"channels": value})


def test_samples_in_two_channels_count_once():
    spans = [(0, 100), (50, 100), (300, 50), (310, 10)]
    segments = [Segment("a", i, start, num, "end") for i, (start, num) in enumerate(spans)]
    assert count_covered(segments) == 200
