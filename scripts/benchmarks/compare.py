"""A whole run against one call of the engine for each segment, and against one call for all.

    python scripts/benchmarks/compare.py [CLIPS]

The work of `vllm_queue.py` (600 CLIPS), decoding counted for all: `asrbatch bench --compare`.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path

from vllm_queue import MAX_NUM_SEQS, MODEL, make_clips

from asrbatch.bench import Work, bench


def main(count: int = 600) -> None:
    """Print rows of Markdown."""
    options = {
        "engine": "vllm", "model": str(MODEL), "dtype": "float32", "max_num_seqs": MAX_NUM_SEQS,
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        make_clips(Path(folder), count)
        result = bench(Work([folder], options, compare=("serial", "generate")))
    for name, one in result["compare"].items():
        print(
            f"| vLLM, words checkpoint, {count} clips of 1 to 30 s and three of 5 minutes, over "
            f"`{name}` | {one['times_as_fast']:.2f} |"
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*map(int, sys.argv[1:]))
