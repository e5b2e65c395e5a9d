"""Greedy tokens of transformers' own `generate`, for comparison; run as a program.

python -m tests.run_transformers MODEL SEGMENTS.npz > tokens.json
"""

import json
import sys

import numpy as np
import torch
from transformers import AutoProcessor, Qwen3ASRForConditionalGeneration

from asrbatch.engines.prompts import qwen3_asr_prompt


def main(model_path: str, segments_path: str) -> None:
    torch.manual_seed(0)
    processor = AutoProcessor.from_pretrained(model_path)
    model = Qwen3ASRForConditionalGeneration.from_pretrained(model_path, dtype=torch.float32)
    tokens = {}
    with np.load(segments_path) as segments, torch.inference_mode():
        for name in segments.files:
            inputs = processor(
                text=qwen3_asr_prompt(None, None),
                audio=segments[name],
                sampling_rate=16_000,
                return_tensors="pt",
            )
            output = model.generate(**inputs, do_sample=False, max_new_tokens=424)
            tokens[name] = output[0, inputs["input_ids"].shape[1] :].tolist()
    json.dump(tokens, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
