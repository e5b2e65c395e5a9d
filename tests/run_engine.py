"""Tokens and texts of our vLLM engine for given segments; run as a program.

    python -m tests.run_engine MODEL SEGMENTS.npz MAX_NUM_SEQS SEED > answers.json

The seed shuffles the order in which the segments are submitted.
"""

import json
import sys
import warnings
from random import Random

import numpy as np

from asrbatch.data import Segment
from asrbatch.engines import EngineConfig, load_engine, resolve_model
from asrbatch.mel import model_input


def main(model: str, segments_path: str, max_num_seqs: str, seed: str) -> None:
    config = EngineConfig("vllm", model, "float32", max_num_seqs=int(max_num_seqs))
    spec = resolve_model(config)
    engine = load_engine(spec, config)
    answers = []
    with np.load(segments_path) as segments:
        names = list(segments.files)
        Random(int(seed)).shuffle(names)
        while names or engine.outstanding:
            while names and engine.outstanding < engine.capacity:
                samples = segments[name := names.pop()]
                audio = model_input(samples, spec.mel)
                engine.submit(Segment(name, 0, 0, len(samples), "end"), audio)
            answers += engine.step()
    engine.close()
    json.dump({a.recording_id: [list(a.tokens), a.text, a.language] for a in answers}, sys.stdout)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
