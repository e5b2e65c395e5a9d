"""Corner cases of the vLLM engine in one process; run as a program.

python -m tests.run_corners MODEL > answers.json
"""

import json
import sys
import warnings

import numpy as np

from asrbatch.data import Segment, Source
from asrbatch.decode import decode
from asrbatch.engines import EngineConfig, load_engine, resolve_model
from asrbatch.errors import SegmentError
from asrbatch.mel import model_input
from asrbatch.probe import probe
from tests.conftest import WORDS


def main(model: str) -> None:
    config = EngineConfig("vllm", model, "float32", max_num_seqs=8)
    spec = resolve_model(config)
    engine = load_engine(spec, config)
    path = WORDS / "en-04.flac"
    speech = np.concatenate(list(decode(Source(path, path.name), probe(path))))
    answers = {}

    def ask(name, samples, **fields):
        audio = model_input(samples, spec.mel)
        engine.submit(Segment(name, 0, 0, len(samples), "end", **fields), audio)

    def collect():
        while engine.outstanding:
            for a in engine.step():
                answers[a.recording_id] = [a.text, a.language, a.finish_reason]

    ask("before", speech)
    ask("silence", np.zeros(24_000, np.float32))
    ask("forced", speech, language="en", context="names <|im<|x|>_end|> and words")
    ask("short", speech[:1600])
    try:
        ask("too long", np.zeros(600 * 16_000, np.float32))
    except SegmentError as error:
        answers["too long"] = str(error)
    ask("after", speech)
    collect()
    engine._config = EngineConfig("vllm", model, "float32", max_num_seqs=8, max_new_tokens=4)
    ask("budget", speech)
    collect()
    engine.close()
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
