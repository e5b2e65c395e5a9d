"""Words of our aligner, in batches and one by one, and those of transformers; run as a program.

python -m tests.run_aligner MODEL FOLDER > words.json
"""

import json
import sys
from pathlib import Path

import numpy as np
import soundfile
import torch
from transformers import AutoProcessor, Qwen3ASRForTokenClassification

from asrbatch.data import SAMPLE_RATE, Hypothesis, MelParams, Segment
from asrbatch.engines.aligner import Aligner, Item
from asrbatch.engines.base import ModelSpec
from asrbatch.mel import model_input

START = 5 * SAMPLE_RATE
"""Where in its file each segment is said to begin."""

MEL = MelParams(128)


def in_seconds(words):
    return [
        [
            word.text,
            round((word.start_sample - START) / SAMPLE_RATE, 3),
            round((word.end_sample - START) / SAMPLE_RATE, 3),
        ]
        for word in words
    ]


def main(model_path, folder):
    aligner = Aligner(ModelSpec("vllm", "aligner", Path(model_path), "1", mel=MEL))
    processor = AutoProcessor.from_pretrained(model_path)
    model = Qwen3ASRForTokenClassification.from_pretrained(model_path, dtype=torch.float32).eval()
    items, theirs = [], {}
    for path in sorted(Path(folder).glob("[ez][nh]-*.flac")):
        waveform, _ = soundfile.read(path, dtype="float32")
        words = [w["word"] for w in json.loads(path.with_suffix(".words.json").read_text("utf-8"))]
        language = path.name[:2]
        segment = Segment(path.name, 0, START, len(waveform), "end")
        text = (" " if language == "en" else "").join(words)
        answer = Hypothesis(path.name, 0, text, language, "stop", (), 0.0)
        items.append(Item(segment, model_input(waveform, MEL), answer))
        prompt = "<|audio_start|><|audio_pad|><|audio_end|>" + "".join(
            f"{word}<timestamp><timestamp>" for word in words
        )
        inputs = processor(text=[prompt], audio=[waveform], sampling_rate=SAMPLE_RATE)
        with torch.inference_mode():
            logits = model(**inputs).logits
        (found,) = processor.decode_forced_alignment(
            logits, inputs["input_ids"], [words], model.config.timestamp_token_id
        )
        theirs[path.name] = [[w["text"], w["start_time"], w["end_time"]] for w in found]
    waveforms = [item._replace(audio=np.asarray(item.audio)) for item in items]
    batched = aligner.align(waveforms)
    single = [aligner.align([item])[0] for item in items]
    names = [item.segment.recording_id for item in items]
    json.dump(
        {
            "theirs": theirs,
            "batched": dict(zip(names, map(in_seconds, batched), strict=True)),
            "single": dict(zip(names, map(in_seconds, single), strict=True)),
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
