"""Find speech in a stream of samples, and leave out long stretches without any.

The detector is Silero VAD (snakers4/silero-vad, version 6) in its sequence form, which takes many
frames in one call; its weights come with faster-whisper and run in onnxruntime alone.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from asrbatch.blocks import regroup, runs_of
from asrbatch.data import Block
from asrbatch.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from asrbatch.data import SpeechParams, Waveform

MODEL_FILE = "silero_vad_v6.onnx"

FRAME_SAMPLES = 512
CONTEXT_SAMPLES = 64
STATE_SHAPE = (1, 1, 128)
"""What the model takes: 32 ms, the 4 ms before them, and what it remembers."""

TILE_FRAMES = 32
CALL_FRAMES = 10 * TILE_FRAMES
"""About 10 s to a call; whether a second of it is digital silence is looked at first."""

SILENCE_PEAK = 1e-4
"""-80 dBFS: nothing louder in a tile, and the model is not asked. It begins anew after that."""

LOUD_LEVEL = 0.1
MAX_GAIN = 100.0
LOUD_STEP = 8
"""The loud parts of quiet 10 s, known from every eighth sample, are brought to -20 dBFS; the gain
ends at 40 dB, so that speech is found down to -60 dBFS."""

RELEASE = 0.15
"""Speech goes on until its probability is so much below the threshold (snakers4/silero-vad)."""

PAD_FRAMES = 7
"""Kept of what is left out, before and after speech: 0.22 s, since soft sounds at the edges of a
word are found late or not at all."""


def find_speech(blocks: Iterable[Waveform], params: SpeechParams) -> Iterator[Block]:
    """Tell speech from the rest, and leave out what is long and holds none.

    Args:
        blocks: Consecutive waveforms of any length, float32, 16 kHz mono.
        params: From which probability on it is speech, and how long the rest must be.

    Yields:
        Blocks in order, without those samples that are left out: 0.22 s of such a stretch stay
        on either side that has speech. At most about 10 s, one block, and as much as may not be
        left out are held at any time.

    Raises:
        ConfigError: The detector is not installed.
    """
    detector, gate = Detector(), _Gate(params)
    for waveform in regroup(blocks, CALL_FRAMES * FRAME_SAMPLES):
        yield from gate.take(waveform, detector.probabilities(_amplified(waveform)))
    yield from gate.finish()


def listen(blocks: Iterable[Waveform], params: SpeechParams | None) -> Iterator[Block]:
    """`find_speech`, or `take_all` where nobody is to look."""
    return take_all(blocks) if params is None else find_speech(blocks, params)


def mark_speech(waveform: Waveform, params: SpeechParams) -> NDArray[np.bool_]:
    """Where in a short waveform is speech; nothing is left out.

    Args:
        waveform: Shape (T,), float32, 16 kHz mono.
        params: From which probability on it is speech.

    Returns:
        Shape (T,).
    """
    gate = _Gate(replace(params, min_silence_samples=len(waveform) + FRAME_SAMPLES))
    probabilities = Detector().probabilities(_amplified(waveform))
    blocks = [*gate.take(waveform, probabilities), *gate.finish()]
    return np.concatenate([block.is_speech for block in blocks if block.is_speech is not None])


def take_all(blocks: Iterable[Waveform]) -> Iterator[Block]:
    """All samples, with nothing known of the speech in them."""
    start = 0
    for waveform in blocks:
        yield Block(start, waveform)
        start += len(waveform)


def _amplified(waveform: Waveform) -> Waveform:
    """For the detector alone: what is very quiet, or lies beside zero, it takes for silence."""
    centred = waveform - waveform.mean()
    loud = float(np.percentile(np.abs(centred[::LOUD_STEP]), 99))
    if loud < SILENCE_PEAK:
        return np.asarray(centred, np.float32)
    return np.asarray(centred * min(max(LOUD_LEVEL / loud, 1.0), MAX_GAIN), np.float32)


class Detector:
    """Listens to one recording from its start."""

    def __init__(self) -> None:
        self._session = _session()
        self._h: NDArray[np.float32]
        self._c: NDArray[np.float32]
        self._tail: Waveform
        self._forget()

    def probabilities(self, waveform: Waveform) -> NDArray[np.float32]:
        """Probability of speech in each frame of `FRAME_SAMPLES`.

        Args:
            waveform: Shape (T,), follows the one before; T is a multiple of a frame unless it
                is the last one.

        Returns:
            Shape (ceil(T / FRAME_SAMPLES),).
        """
        padded = np.pad(waveform, (0, -len(waveform) % FRAME_SAMPLES))
        frames = padded.reshape(-1, FRAME_SAMPLES)
        found = np.zeros(len(frames), np.float32)
        tiles = range(0, len(frames), TILE_FRAMES)
        is_heard = [np.abs(frames[i : i + TILE_FRAMES]).max() > SILENCE_PEAK for i in tiles]
        for first, last, is_loud in runs_of(np.array(is_heard)):
            if is_loud:
                here = slice(first * TILE_FRAMES, last * TILE_FRAMES)
                found[here] = self._ask(frames[here])
            else:
                self._forget()
        return found

    def _ask(self, frames: NDArray[np.float32]) -> NDArray[np.float32]:
        tails = frames[:-1, -CONTEXT_SAMPLES:]
        before = np.concatenate((self._tail[np.newaxis], tails))
        given = {"input": np.concatenate((before, frames), axis=1), "h": self._h, "c": self._c}
        found, self._h, self._c = self._session.run(None, given)
        self._tail = frames[-1, -CONTEXT_SAMPLES:].copy()
        return np.asarray(found, np.float32).reshape(-1)

    def _forget(self) -> None:
        self._h = self._c = np.zeros(STATE_SHAPE, np.float32)
        self._tail = np.zeros(CONTEXT_SAMPLES, np.float32)


class _Gate:
    """Holds samples back until it is known whether they are left out. Positions are in frames."""

    def __init__(self, params: SpeechParams) -> None:
        self._params = params
        self._start = 0
        """Of what is held."""
        self._waveform: Waveform = np.empty(0, np.float32)
        self._is_speech: NDArray[np.bool_] = np.empty(0, bool)
        self._num_samples = 0
        """Taken so far."""
        self._quiet_since = 0
        self._has_spoken = False

    def take(self, waveform: Waveform, probabilities: NDArray[np.float32]) -> Iterator[Block]:
        """Hold more; give what is decided."""
        offset = self._start + len(self._is_speech)
        is_speech = self._label(probabilities)
        self._num_samples += len(waveform)
        self._waveform = np.concatenate((self._waveform, waveform))
        self._is_speech = np.concatenate((self._is_speech, is_speech))
        for first, last, is_spoken in runs_of(is_speech):
            if is_spoken:
                yield from self._end_silence(offset + first)
                self._quiet_since, self._has_spoken = offset + last, True
        end = offset + len(is_speech)
        yield from self._end_silence(end)
        yield from self._give(self._quiet_since)

    def finish(self) -> Iterator[Block]:
        """Give the rest, or leave it out."""
        end = self._start + len(self._is_speech)
        if self._is_long(end):
            self._drop(end)
        yield from self._give(end)

    def _label(self, probabilities: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Speech or not: between the two thresholds it stays what it was."""
        enter = self._params.threshold
        leave = max(enter - RELEASE, 0.01)
        was_speech = len(self._is_speech) > 0 and bool(self._is_speech[-1])
        signs = np.where(probabilities >= enter, 1, np.where(probabilities < leave, -1, 0))
        known = np.concatenate(([1 if was_speech else -1], signs))
        last_known = np.maximum.accumulate(np.where(known, np.arange(len(known)), 0))
        return np.asarray(known[last_known][1:] > 0)

    def _is_long(self, end: int) -> bool:
        end_sample = min(end * FRAME_SAMPLES, self._num_samples)  # the last frame may be shorter
        quiet_samples = end_sample - self._quiet_since * FRAME_SAMPLES
        return quiet_samples > self._params.min_silence_samples

    def _end_silence(self, end: int) -> Iterator[Block]:
        """Leave out the middle of the silence up to `end` where it is long."""
        if self._is_long(end):
            if self._has_spoken:
                yield from self._give(self._quiet_since + PAD_FRAMES)
            self._drop(end - PAD_FRAMES)

    def _give(self, end: int) -> Iterator[Block]:
        num_frames = min(end - self._start, len(self._is_speech))
        if num_frames <= 0:
            return
        waveform = self._waveform[: num_frames * FRAME_SAMPLES]
        is_speech = np.repeat(self._is_speech[:num_frames], FRAME_SAMPLES)[: len(waveform)]
        yield Block(self._start * FRAME_SAMPLES, waveform, is_speech)
        self._drop(self._start + num_frames)

    def _drop(self, end: int) -> None:
        num_frames = max(0, end - self._start)
        self._waveform = self._waveform[num_frames * FRAME_SAMPLES :]
        self._is_speech = self._is_speech[num_frames:]
        self._start += num_frames


@lru_cache(maxsize=1)
def _session() -> Any:  # noqa: ANN401  (onnxruntime has no types)
    import onnxruntime

    package = find_spec("faster_whisper")  # its import would bring CTranslate2 into each worker
    folders = package.submodule_search_locations if package else None
    path = Path(folders[0], "assets", MODEL_FILE) if folders else None
    if path is None or not path.is_file():
        msg = f"vad: faster-whisper has no {MODEL_FILE}; install faster-whisper>=1.2, or give --no-vad"
        raise ConfigError(msg)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
