"""Values that cross from one stage to another.

Time is held in integer samples at 16 kHz (`SAMPLE_RATE`); seconds appear only in output.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Waveform: TypeAlias = NDArray[np.float32]
    """Shape (T,), 16 kHz mono, float32; speech stays within [-1, 1]."""
    Features: TypeAlias = NDArray[np.float32]
    """Shape (num_mels, T), float32: a segment's log-mel."""

SAMPLE_RATE = 16_000
"""Hz; what Whisper and Qwen3-ASR listen to (openai/whisper, `audio.py`)."""

MIN_MODEL_SAMPLES = SAMPLE_RATE
"""Shorter clips are padded to 1 s: Qwen3-ASR's encoder pads one-second tiles to the longest in
the batch, so that what is shorter gets an answer that depends on its neighbours."""

ALIGNMENT = 64
"""Bytes, of arrays in shared memory and in files: a cache line, and the widest vector register."""

Cut: TypeAlias = Literal["pause", "quiet", "end"]
"""Why a segment ends where it ends: a pause, the quietest moment, or the end of the recording."""


@dataclass(frozen=True, slots=True)
class RawFormat:
    """How to read a headerless file."""

    encoding: str
    """One of `s8`, `u8`, `s16le`, `s16be`, `s24le`, `s24be`, `s32le`, `s32be`, `f32le`, `f32be`."""
    sample_rate: int
    channels: int


@dataclass(frozen=True, slots=True)
class SpeechParams:
    """What counts as speech, and what is left out."""

    threshold: float = 0.5
    """Probability from which on a frame is speech."""
    min_silence_samples: int = 2 * SAMPLE_RATE
    """Longer stretches without speech are left out."""


@dataclass(frozen=True, slots=True)
class Block:
    """Samples of a recording that follow each other."""

    start_sample: int
    """Counted from the start of what is meant of the file; what lies between the end of one block
    and the start of the next is left out."""
    waveform: Waveform
    is_speech: NDArray[np.bool_] | None = None
    """One for each sample; None where nobody looked."""


@dataclass(frozen=True, slots=True)
class MelParams:
    """Which log-mel a model takes."""

    num_mels: int
    window_samples: int = 400
    hop_samples: int = 160


@dataclass(frozen=True, slots=True)
class Source:
    """One thing to transcribe as the user named it; nothing has been opened yet."""

    location: str | Path
    """What to open; a million of them are lighter as plain strings."""
    name: str
    """Path relative to its input root, `/` separators: the `path` of the results."""
    start_sample: int = 0
    """First sample that is meant, at 16 kHz; above 0 only where a manifest says so."""
    num_samples: int | None = None
    """Samples that are meant, at 16 kHz; None is up to the end."""
    channel: int | None = None
    """Channel that is meant, from 0; None is the mean of all."""
    language: str | None = None
    context: str | None = None
    session: str | None = None
    root: str = field(default="", compare=False)
    """Real folder that the name is relative to; empty where it does not matter."""

    @property
    def path(self) -> Path:
        """What to open."""
        return Path(self.location)

    @property
    def offset_s(self) -> float:
        """Where it begins in the file, in seconds."""
        return round(self.start_sample / SAMPLE_RATE, 6)

    @property
    def part(self) -> str:
        """What of the file is meant, as a suffix for keys and ids; empty for all of it.

        It begins with `#`, which no content id holds, as in `#c1`, `#@8000+4000`, `#c1@8000+`.
        """
        if self.channel is None and not self.start_sample and self.num_samples is None:
            return ""
        part = "" if self.channel is None else f"c{self.channel}"
        if self.start_sample or self.num_samples is not None:
            part += f"@{self.start_sample}+{'' if self.num_samples is None else self.num_samples}"
        return f"#{part}"

    @property
    def key(self) -> str:
        """Unique within a run: the name and what of the file is meant."""
        return self.name + self.part


@dataclass(frozen=True, slots=True)
class AudioInfo:
    """What the headers of a file say. They may lie; the decoder checks."""

    num_bytes: int
    mtime_ns: int
    container: str
    """Short name, for example `wav`, `flac`, `ogg`, `mp4`."""
    codec: str
    """Short name, for example `pcm_s16le`, `vorbis`, `aac`."""
    sample_rate: int
    channels: int
    num_samples: int | None
    """Length of the whole file at 16 kHz; None where the headers do not say or say nonsense."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A source whose headers have been read."""

    source: Source
    info: AudioInfo

    @property
    def num_samples(self) -> int | None:
        """Samples to transcribe at 16 kHz as far as headers tell; None where they do not."""
        if self.info.num_samples is None:
            return self.source.num_samples
        rest = max(0, self.info.num_samples - self.source.start_sample)
        return rest if self.source.num_samples is None else min(rest, self.source.num_samples)


@dataclass(frozen=True, slots=True)
class Segment:
    """A span of a recording that is given to the engine in one piece."""

    recording_id: str
    """Key of the recording, unique within a run."""
    index: int
    """Position in the recording; what is heard once more counts down from -1."""
    start_sample: int
    """Counted from the start of the file, also where only a part is meant."""
    num_samples: int
    cut: Cut
    language: str | None = None
    """Language code to force; None lets the model decide."""
    context: str | None = None
    speech_samples: int | None = None
    """Among its samples; None where nobody looked for speech."""
    temperature: float = 0.0
    """Of sampling; 0 takes the likeliest token each time."""
    channel: int | None = None
    """Of the file, from 0, where its channels are heard apart."""

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return self.num_samples / SAMPLE_RATE


@dataclass(frozen=True, slots=True)
class FeatureSpan:
    """A span of a recording as the model takes it."""

    start_sample: int
    """Counted from the start of what is meant of the file."""
    num_samples: int
    cut: Cut
    audio: Waveform | Features
    speech_samples: int | None = None
    """Among its samples; None where nobody looked for speech."""
    channel: int | None = None
    """Of the file, from 0, where its channels are heard apart."""


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """All of a recording as the model takes it."""

    spans: tuple[FeatureSpan, ...]
    flags: tuple[str, ...]
    """Of the decoder."""
    num_samples: int
    """Of the whole recording, what is left out included."""

    @property
    def num_bytes(self) -> int:
        """Bytes of the arrays."""
        return sum(span.audio.nbytes for span in self.spans)


@dataclass(frozen=True, slots=True)
class Word:
    """A word as it stands in the text, and when it was said."""

    text: str
    start_sample: int
    """Counted from the start of the file, as that of its segment."""
    end_sample: int


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """The engine's answer to one segment."""

    recording_id: str
    index: int
    text: str
    language: str | None
    """Language code; None where the model heard no speech or does not say."""
    finish_reason: str
    """`stop`, or `length` where the token budget ran out before the text did."""
    tokens: tuple[int, ...]
    """As the model gave them, those that end or tag the text included."""
    latency_s: float
    """From submission to answer, waiting included."""
    first_token_s: float | None = None
    """From submission to the first token; None where the engine does not say."""
    words: tuple[Word, ...] | None = None
    """In order of time; None where nobody asked, or the aligner does not know the language."""


@dataclass(frozen=True, slots=True)
class TranscriptWord:
    """A word, as it stands in the results."""

    word: str
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class TranscriptSegment:
    """A segment with its text, as it stands in the results."""

    start_s: float
    end_s: float
    text: str
    language: str | None
    cut: Cut
    flags: tuple[str, ...] = ()
    channel: int | None = None
    """Of the file, from 0, where its channels are heard apart."""
    words: tuple[TranscriptWord, ...] | None = None
    """None where nobody asked, or the aligner does not know the language."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """A finished recording: one line of `results.jsonl`."""

    schema: int = field(default=1, kw_only=True)
    id: str
    """BLAKE3 of the file's bytes, with channel and span where only a part is meant."""
    path: str
    size_bytes: int
    mtime_ns: int
    session: str | None
    channel: int | None
    offset_s: float
    duration_s: float
    speech_s: float
    """Given to the model; with what is skipped it is the duration, to the sample."""
    skipped_s: float
    """Left out, since it holds no speech."""
    language: str | None
    text: str
    segments: tuple[TranscriptSegment, ...]
    flags: tuple[str, ...]
    model: str
    engine: str
    options: str
    """Fingerprint of everything that can change the text."""
    rtf: float
    """Seconds from opening the file to its last hypothesis over seconds of audio."""
    created_at: str
    root: str = ""
    """Digest of the real folder that `path` is relative to; empty where it does not matter."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A recording that could not be transcribed: one line of `results.failures.jsonl`."""

    path: str
    """Key of the recording: its path, and what of the file is meant."""
    stage: str
    error: str
    message: str
    attempts: int = 1
