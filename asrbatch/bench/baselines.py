"""How a plain script would do the same work: decode, cut and transcribe, one after the other."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from asrbatch.cut import cut
from asrbatch.data import Segment
from asrbatch.decode import decode
from asrbatch.speech import listen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from asrbatch.data import Recording, Waveform
    from asrbatch.engines import Engine
    from asrbatch.pipeline import RunConfig


def serial(recordings: Sequence[Recording], config: RunConfig, engine: Engine) -> float:
    """One call for each segment, as `LLM.generate` in a loop; seconds it took."""
    start = time.perf_counter()
    for segment, waveform in _segments(recordings, config):
        engine.submit(segment, waveform)
        while engine.outstanding:
            engine.step()
    return time.perf_counter() - start


def generate(recordings: Sequence[Recording], config: RunConfig, engine: Engine) -> float:
    """One call for all segments, as `LLM.generate` of a list; seconds it took."""
    start = time.perf_counter()
    everything = list(_segments(recordings, config))
    for segment, waveform in everything:
        engine.submit(segment, waveform)
    while engine.outstanding:
        engine.step()
    return time.perf_counter() - start


BASELINES: dict[str, Callable[[Sequence[Recording], RunConfig, Engine], float]] = {
    "serial": serial,
    "generate": generate,
}


def _segments(
    recordings: Sequence[Recording], config: RunConfig
) -> Iterator[tuple[Segment, Waveform]]:
    for recording in recordings:
        source = recording.source
        for index, span in enumerate(
            cut(listen(decode(source, recording.info), config.speech), config.chunk_samples)
        ):
            segment = Segment(
                source.key, index, span.start_sample, len(span.waveform), span.cut, source.language
            )
            yield segment, span.waveform
