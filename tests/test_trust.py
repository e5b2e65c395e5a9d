"""What is heard can be trusted: nothing where there is no speech, and speech that is hard to hear."""

import numpy as np
import pytest
import soundfile

from asrbatch.data import SAMPLE_RATE
from asrbatch.options import build_config
from asrbatch.pipeline import Run
from tests.conftest import MODELS, SPEECH, references
from tests.scoring import word_error_rate
from tests.sounds import WITHOUT_SPEECH, at_level

CLIPS = [f"austen-{n}.wav" for n in ("0870", "0880", "0890", "0920", "0930")] + ["jfk.flac"]


@pytest.mark.parametrize(
    ("engine", "model"), [("ctranslate2", None), ("vllm", MODELS / "qwen3-asr-words")]
)
def test_recordings_without_speech_have_an_empty_text(engine, model, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for name, make in WITHOUT_SPEECH.items():
        soundfile.write(folder / f"{name}.wav", make(), SAMPLE_RATE)
    options = {"engine": engine, "model": model and str(model), "context": "Jane Austen, a novel"}
    run = Run(build_config(folder, options | {"out": tmp_path / "results.jsonl"}))
    transcripts = list(run)
    assert {t.path for t in transcripts} == {f"{name}.wav" for name in WITHOUT_SPEECH}
    for transcript in transcripts:
        assert (transcript.text, transcript.segments) == ("", ())
        assert (transcript.speech_s, transcript.skipped_s) == (0.0, 20.0)
        assert transcript.flags == ("mostly_skipped",)
    assert run.stats.wall_s["load"] == 0, "the model is loaded for nothing"


def quiet(clip):
    return at_level(clip, -40)


def noisy(clip):
    noise = np.random.default_rng(0).normal(0, 1, len(clip))
    rms = np.sqrt(np.mean(clip**2))
    return (clip + noise * rms * 10 ** (-20 / 20)).astype(np.float32)


def clipped(clip):
    """12 dB too loud."""
    return np.clip(clip / np.abs(clip).max() * 4, -1, 1)


def telephone(clip):
    import scipy.signal

    band = scipy.signal.butter(6, (300, 3400), "bandpass", fs=SAMPLE_RATE, output="sos")
    return scipy.signal.sosfilt(band, clip)[::2].astype(np.float32)


def transcribed(folder):
    run = Run(build_config(folder, {"engine": "ctranslate2"}))
    return {t.path.partition(".")[0]: t for t in run}


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    return transcribed(write(tmp_path_factory.mktemp("clean"), lambda clip: clip))


def write(folder, change, rate=SAMPLE_RATE):
    import soxr

    for name in CLIPS:
        clip, clip_rate = soundfile.read(SPEECH / name, dtype="float32", always_2d=True)
        clip = soxr.resample(clip.mean(axis=1), clip_rate, SAMPLE_RATE)
        soundfile.write(folder / f"{name.partition('.')[0]}.wav", change(clip), rate)
    return folder


def rate_of(found):
    texts = {name.partition(".")[0]: text for (name, _), text in references(SPEECH).items()}
    return word_error_rate([(texts[stem], t.text) for stem, t in found.items()])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "rate"), [(quiet, 16_000), (noisy, 16_000), (clipped, 16_000), (telephone, 8_000)]
)
def test_speech_that_is_hard_to_hear_is_heard(change, rate, clean, tmp_path):
    found = transcribed(write(tmp_path, change, rate))
    print(f"{change.__name__}: WER {rate_of(found):.2%}, clean {rate_of(clean):.2%}")
    assert rate_of(found) <= rate_of(clean) + 0.05
    assert all(t.skipped_s == 0 for t in found.values())


@pytest.mark.slow
def test_no_real_clip_is_doubted():
    run = Run(build_config(SPEECH, {"engine": "ctranslate2", "context": "Jane Austen, a novel"}))
    assert {t.path: t.flags for t in run if t.flags} == {}
    assert (run.stats.done, run.stats.retries) == (11, 0)
