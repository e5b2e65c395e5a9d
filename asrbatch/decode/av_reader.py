"""Read with PyAV (FFmpeg): everything that libsndfile does not know."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

import numpy as np

from asrbatch.data import SAMPLE_RATE
from asrbatch.decode.links import Link, open_link
from asrbatch.decode.reader import Block, ReadError, block_frames
from asrbatch.errors import AudioDecodeError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction
    from pathlib import Path

    from av import AudioFrame, Packet
    from av.audio.codeccontext import AudioCodecContext
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from numpy.typing import NDArray

MAX_LOST_S = 0.1
"""Packets that fail in between: two MP3 files in one lose a frame where they meet."""


class AvReader:
    """The first audio track of one file, or of one link of a file, through FFmpeg."""

    is_trusted = True

    def __init__(self, source: Path | Link) -> None:
        self._source = source
        self._container, self._track = _open(source)
        self.declared_s = (self._container.duration or 0) / 1_000_000  # AV_TIME_BASE
        self.is_cut = False

    def measure(self) -> int:
        """Length in samples at 16 kHz: the sum of the packets, less what encoders added."""
        import av

        container, track = _open(self._source)
        rate = track.codec_context.sample_rate
        ticks, skipped_frames = 0, 0
        with container:
            try:
                for packet in container.demux(track):
                    ticks += packet.duration or 0
                    skipped_frames += _skipped_frames(packet)
            except av.FFmpegError:
                pass  # what was counted up to here is what there is
            tick = track.time_base
        if tick is None or not rate:
            return 0
        return int(ticks * tick * SAMPLE_RATE) - skipped_frames * SAMPLE_RATE // rate

    def seek(self, sample: int) -> int:
        """Stay at the start: compressed formats have no exact seek."""
        del sample
        return 0

    def blocks(self) -> Iterator[Block]:
        """Yield blocks, each of one rate and one number of channels."""
        held: list[AudioFrame] = []
        held_frames = 0
        form, limit = None, 0
        for frame in self._frames():
            if (frame.sample_rate, frame.layout.nb_channels, frame.format.name) != form:
                if held:
                    yield _block(held)
                held, held_frames = [], 0
                form = (frame.sample_rate, frame.layout.nb_channels, frame.format.name)
                limit = block_frames(frame.sample_rate, frame.layout.nb_channels)
            held.append(frame)
            held_frames += frame.samples
            if held_frames >= limit:
                yield _block(held)
                held, held_frames = [], 0
        if held:
            yield _block(held)

    def close(self) -> None:
        """Close the file."""
        self._container.close()

    def _frames(self) -> Iterator[AudioFrame]:
        """Yield what decodes and pass over what does not, as ffmpeg does."""
        import av

        tick = self._track.time_base
        lost_s, is_last_lost, failure, any_decoded = 0.0, False, None, False
        try:
            for packet in self._container.demux(self._track):
                if packet.has_sidedata("encryption_info"):
                    msg = "the audio is encrypted; give a copy without protection"
                    raise AudioDecodeError(msg)
                try:
                    frames = packet.decode()
                except av.FFmpegError as error:
                    failure, is_last_lost = error, True
                    lost_s += _duration_s(packet, tick) if any_decoded else 0.0
                    continue
                if packet.size:
                    is_last_lost = packet.is_corrupt and self._container.format.name != "wav"
                any_decoded = any_decoded or bool(frames)
                yield from (frame for frame in frames if frame.samples and frame.sample_rate)
        except av.FFmpegError as error:
            failure, is_last_lost = error, True
        if failure is not None and not any_decoded:
            msg = f"FFmpeg: {failure.strerror}"
            raise ReadError(msg) from failure
        self.is_cut = is_last_lost or lost_s > MAX_LOST_S


def _open(source: Path | Link) -> tuple[InputContainer, AudioStream]:
    """Open a file and find its first audio track that has a decoder."""
    import av

    av.logging.set_level(None)
    # An absolute path is never taken for a URL; a playlist must not reach the network.
    file = open_link(source) if isinstance(source, Link) else os.fspath(source.absolute())
    options = {"protocol_whitelist": "file"}
    try:
        container = av.open(file, "r", options=options, metadata_errors="ignore")
    except av.FFmpegError as error:
        # The number of the error need not mean what it means to the system.
        msg = f"FFmpeg: {error.strerror}"
        raise ReadError(msg) from error
    tracks = container.streams.audio
    codec: AudioCodecContext | None = tracks[0].codec_context if tracks else None
    if codec is None:
        container.close()
        msg = "FFmpeg: no audio track" if not tracks else "FFmpeg: no decoder for the audio track"
        raise ReadError(msg)
    return container, tracks[0]


def _block(frames: list[AudioFrame]) -> Block:
    """Join frames of one form and scale them to [-1, 1]."""
    channels = frames[0].layout.nb_channels
    joined = np.concatenate([frame.to_ndarray() for frame in frames], axis=1)
    # Planar is (channels, T); packed is (1, T * channels).
    by_frame = joined.T if frames[0].format.is_planar else joined.reshape(-1, channels)
    return Block(frames[0].sample_rate, _scaled(by_frame))


def _scaled(samples: NDArray[np.generic]) -> NDArray[np.float32]:
    """Samples of any dtype that FFmpeg gives, as float32 in [-1, 1]."""
    with np.errstate(over="ignore"):  # the caller refuses what overflows
        values = samples.astype(np.float32)
    if samples.dtype == np.uint8:
        return (values - np.float32(128)) / np.float32(128)
    if samples.dtype.kind == "i":
        return values / np.float32(1 << (8 * samples.dtype.itemsize - 1))
    return values


def _duration_s(packet: Packet[AudioStream], tick: Fraction | None) -> float:
    return float((packet.duration or 0) * tick) if tick else 0.0


def _skipped_frames(packet: Packet[AudioStream]) -> int:
    """Frames that the decoder drops from a packet: what the encoder put before and after."""
    if not packet.has_sidedata("skip_samples"):
        return 0
    # Two little-endian counts: from the start and from the end (libavcodec, packet.h).
    start, end = struct.unpack_from("<II", bytes(packet.get_sidedata("skip_samples")))
    return int(start + end)
