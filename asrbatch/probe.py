"""Read the headers of a file; the samples stay unread.

libsndfile is asked first where the first bytes are of a kind that it knows, PyAV (FFmpeg) for
all else. libsndfile alone would also guess from the suffix, and mpg123 inside it prints
warnings about MP3 headers, so MP3 goes to PyAV.
"""

from __future__ import annotations

import os
import re
from stat import S_ISCHR, S_ISFIFO, S_ISSOCK
from typing import TYPE_CHECKING

from asrbatch.data import SAMPLE_RATE, AudioInfo
from asrbatch.errors import AudioProbeError

if TYPE_CHECKING:
    from pathlib import Path

    from av.audio.codeccontext import AudioCodecContext
    from av.audio.stream import AudioStream
    from av.container import InputContainer

    from asrbatch.data import RawFormat

RAW_SUFFIXES = frozenset({".raw", ".pcm"})

MIN_RATE, MAX_RATE = 2_000, 768_000
"""Hz; below is no speech, above is no converter: a damaged header."""

MAX_CHANNELS = 256

MIN_BITS_PER_SECOND = 200
"""The thriftiest speech codec (Codec2) takes 450 bit/s; a header that implies less is wrong."""

SOUNDFILE_MAGIC = (
    *(b"RIFF", b"RIFX", b"RF64", b"riff", b"FORM", b".snd", b"dns.", b"caff", b"NIST"),
    *(b"fLaC", b"OggS"),
)
"""First bytes of what libsndfile reads well."""

CONTAINER_NAMES = {"wavex": "wav", "nist": "sphere", "nistsphere": "sphere", "mov": "mp4"}
"""Names of the libraries where ours differ."""

GUESSED_DURATION = frozenset({"aac", "ac3", "amr", "dts", "eac3", "loas", "mp3", "mpeg", "mpegts"})
"""Containers without a length: FFmpeg divides the size by the first frames' bit rate."""

PLAYLISTS = frozenset({"concat", "dash", "hls"})
"""What FFmpeg opens although it holds no audio but names of other files."""

ENCRYPTED_TAGS = frozenset({"aavd", "drms", "enca"})
"""Sample descriptions of protected audio (Audible, FairPlay, ISO/IEC 23001-7)."""


def probe(path: Path, raw: RawFormat | None = None) -> AudioInfo:
    """Read what the headers of a file say.

    Args:
        path: File of any kind.
        raw: How to read `.raw` and `.pcm`, which have no header.

    Returns:
        Container, codec, rate in Hz, channels, and the length in samples at 16 kHz where the
        headers say one that can be.

    Raises:
        AudioProbeError: The file cannot be opened, holds no audio track, is encrypted, or its
            headers say what cannot be.
    """
    try:
        stat = path.stat()
        container, codec, rate, channels, num_frames = _header(path, stat, raw)
    except OSError as error:
        msg = f"cannot open the file: {error.strerror}"
        raise AudioProbeError(msg) from error
    if not MIN_RATE <= rate <= MAX_RATE:
        msg = f"sample rate: {rate} Hz is not within {MIN_RATE} to {MAX_RATE} Hz"
        raise AudioProbeError(msg)
    if not 1 <= channels <= MAX_CHANNELS:
        msg = f"channels: {channels} is not within 1 to {MAX_CHANNELS}"
        raise AudioProbeError(msg)
    if not 0 < num_frames * MIN_BITS_PER_SECOND <= stat.st_size * 8 * rate:
        num_frames = 0
    num_samples = round(num_frames * SAMPLE_RATE / rate) or None
    return AudioInfo(stat.st_size, stat.st_mtime_ns, container, codec, rate, channels, num_samples)


def _header(
    path: Path, stat: os.stat_result, raw: RawFormat | None
) -> tuple[str, str, int, int, int]:
    """Container, codec, rate in Hz, channels, and frames or 0."""
    if S_ISFIFO(stat.st_mode) or S_ISSOCK(stat.st_mode) or S_ISCHR(stat.st_mode):
        msg = "a pipe, socket or device is no recording; opening it could wait for ever"
        raise AudioProbeError(msg)
    with path.open("rb") as file:
        head = file.read(4096)
    if not head:
        msg = "the file is empty"
        raise AudioProbeError(msg)
    if path.suffix.lower() in RAW_SUFFIXES:
        return _raw_header(stat.st_size, raw)
    return _soundfile_header(path, head) if head.startswith(SOUNDFILE_MAGIC) else _av_header(path)


def _raw_header(num_bytes: int, raw: RawFormat | None) -> tuple[str, str, int, int, int]:
    """Container, codec, rate, channels and frames of a file without a header."""
    if raw is None:
        msg = "a headerless file does not say its format; give it, as --raw-format s16le:16000:1"
        raise AudioProbeError(msg)
    sample_bits = int(raw.encoding.strip("sufble"))
    frame_bytes = sample_bits // 8 * raw.channels
    return "raw", f"pcm_{raw.encoding}", raw.sample_rate, raw.channels, num_bytes // frame_bytes


def _soundfile_header(path: Path, head: bytes) -> tuple[str, str, int, int, int]:
    """As libsndfile reads it; where it does not, or not the length, as PyAV does."""
    import soundfile

    try:
        with soundfile.SoundFile(os.fsencode(path)) as file:
            container = file.format.lower()
            # FLAC's subtype is the width of its samples.
            codec = container if container == "flac" else file.subtype.lower()
            rate, channels = file.samplerate, file.channels
            num_frames = file.frames
    except soundfile.SoundFileError:
        return _av_header(path)
    if codec.startswith("mpeg"):
        return _av_header(path)
    if container == "ogg" and _is_chained(path, head):
        num_frames = 0
    declared = re.search(rb"sample_count -i (\d{1,18})", head) if container == "nist" else None
    if declared:
        num_frames = int(declared[1])  # libsndfile goes by the size of the file instead
    container = CONTAINER_NAMES.get(container, container)
    return container, codec, rate, channels, num_frames


def _is_chained(path: Path, head: bytes) -> bool:
    """Whether an Ogg file ends in another stream than it begins with (RFC 3533, section 4)."""
    with path.open("rb") as file:
        file.seek(-min(os.fstat(file.fileno()).st_size, 1 << 17), os.SEEK_END)
        tail = file.read()
    last = tail.rfind(b"OggS")
    return last >= 0 and tail[last + 14 : last + 18] != head[14:18]


def _av_header(path: Path) -> tuple[str, str, int, int, int]:
    """As FFmpeg reads it: the first audio track, whatever else there is."""
    import av

    av.logging.set_level(None)
    try:
        # An absolute path is never taken for a URL; a playlist must not reach the network.
        with av.open(
            os.fspath(path.absolute()),
            options={"protocol_whitelist": "file"},
            metadata_errors="ignore",
        ) as file:
            name = file.format.name.split(",")[0]
            if name in PLAYLISTS:
                msg = f"a playlist ({name}) holds no audio; give the files that it names"
                raise AudioProbeError(msg)
            if not file.streams.audio:
                kinds = ", ".join(sorted({stream.type for stream in file.streams})) or "nothing"
                msg = f"no audio track: the {name} file holds {kinds}"
                raise AudioProbeError(msg)
            track = file.streams.audio[0]
            _refuse_unreadable(file, track)
            codec = track.codec_context
            rate, num_frames = codec.sample_rate, _av_frames(file, track, path)
            container = CONTAINER_NAMES.get(name, name)
            return container, codec.codec.canonical_name, rate, codec.channels, num_frames
    except av.FFmpegError as error:
        msg = f"not audio, or cut off before its index: {error.strerror}"
        raise AudioProbeError(msg) from error


def _refuse_unreadable(file: InputContainer, track: AudioStream) -> None:
    """Refuse a track that has no decoder or whose packets are encrypted."""
    codec: AudioCodecContext | None = track.codec_context  # whatever the stub says
    if codec is None:
        msg = "the first audio track is of a codec that no decoder knows"
        raise AudioProbeError(msg)
    packet = next((packet for packet in file.demux(track) if packet.size), None)
    if _tag(codec) in ENCRYPTED_TAGS or (
        packet is not None and packet.has_sidedata("encryption_info")
    ):
        msg = "the audio is encrypted; give a copy without protection"
        raise AudioProbeError(msg)


def _tag(codec: AudioCodecContext) -> str:
    """Four characters that name the codec; WAV has numbers instead, which need not be text."""
    try:
        return codec.codec_tag
    except UnicodeDecodeError:
        return ""


def _av_frames(file: InputContainer, track: AudioStream, path: Path) -> int:
    """Length in samples at the track's own rate; 0 where the headers do not say."""
    if file.format.name == "mp3":
        return _mp3_frames(path)
    seconds = []
    if track.duration is not None and track.time_base is not None:
        seconds.append(float(track.duration * track.time_base))
    # Matroska times the whole file; FFmpeg and mkvmerge write the track's own time as a tag.
    tag = re.fullmatch(r"(\d+):(\d+):(\d+\.\d+)", track.metadata.get("DURATION", ""))
    if tag:
        seconds.append(int(tag[1]) * 3600 + int(tag[2]) * 60 + float(tag[3]))
    if file.duration is not None and (seconds or len(file.streams) == 1):
        seconds.append(file.duration / 1_000_000)  # AV_TIME_BASE
    if not seconds or file.format.name in GUESSED_DURATION:
        return 0
    return round(min(seconds) * track.codec_context.sample_rate)


def _mp3_frames(path: Path) -> int:
    """Samples that the Xing or Info header of an MP3 declares; 0 without one.

    FFmpeg guesses a length where there is none and does not say that it guessed.
    """
    with path.open("rb") as file:
        head = file.read(10)
        tag_bytes = 0
        if head.startswith(b"ID3") and len(head) == 10:
            size = head[6] << 21 | head[7] << 14 | head[8] << 7 | head[9]
            tag_bytes = 10 + size
        file.seek(tag_bytes)
        start = file.read(4096)
    match = re.search(rb"(?:Xing|Info)...(?P<flags>.)(?P<frames>.{4})", start, re.DOTALL)
    sync = re.search(rb"\xff[\xe2-\xff]", start)
    if match is None or sync is None or not match["flags"][0] & 1:
        return 0
    is_mpeg1 = start[sync.start() + 1] & 0b00011000 == 0b00011000
    num_frames = int.from_bytes(match["frames"], "big") * (1152 if is_mpeg1 else 576)
    lame = start[match.start() + 120 : match.start() + 144]
    if len(lame) == 24 and lame.startswith((b"LAME", b"Lav")):
        # What the encoder put before and after: 12 bits each (LAME tag, revision 1).
        num_frames -= int.from_bytes(lame[21:23], "big") >> 4
        num_frames -= int.from_bytes(lame[22:24], "big") & 0xFFF
    return num_frames
