"""Stream a recording as 16 kHz mono, and judge whether it is all that there should be.

A decoder can return less than there is without an error. So when one library ends, the other
is asked how much there is, and goes on where the first stopped if it has more. What was given
out is never taken back: what decodes is transcribed, and flagged.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from asrbatch.data import SAMPLE_RATE
from asrbatch.decode.av_reader import AvReader
from asrbatch.decode.convert import to_waveforms
from asrbatch.decode.links import find_flac_links, find_ogg_links
from asrbatch.decode.reader import ReadError
from asrbatch.decode.soundfile_reader import SoundfileReader
from asrbatch.errors import AudioDecodeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from asrbatch.data import AudioInfo, RawFormat, Source, Waveform
    from asrbatch.decode.reader import Reader

SOUNDFILE_CONTAINERS = frozenset(
    {"wav", "rf64", "w64", "aiff", "au", "caf", "flac", "ogg", "sphere"}
)
"""Where libsndfile is right, or its faults are known and caught; MP3 is not among them: it
stops where the rate changes, and mpg123 inside it prints warnings."""

LINK_FINDERS = {"flac": find_flac_links, "ogg": find_ogg_links}

TAKE_OVER_S = 0.1
"""The other library goes on where it has more than this beyond the first one's end."""

TOLERANCE_S = 0.25
TOLERANCE_SHARE = 0.005
"""How far a header may be off: encoders count what they put before and after."""

MIN_BITS_PER_SECOND = 200
"""A header that implies less is wrong: the thriftiest speech codec takes 450 bit/s."""


@dataclass(slots=True)
class _Part:
    """A file, or one link of a chained file."""

    openers: tuple[Callable[[], Reader], ...]
    """In the order in which they are tried."""
    is_cut: bool = False
    declared_s: float = 0.0
    end_sample: int = 0
    """How far it was read, at 16 kHz from its own start."""
    failure: str = ""
    """Why nothing of it could be read."""


class AudioStream:
    """The samples that a source means; to be iterated once.

    Attributes:
        num_samples: Samples given out so far, at 16 kHz.
        flags: After the end, sorted: `truncated` where the file was cut or a part of it does
            not decode, `duration_mismatch` where it holds more than its header declares.
    """

    def __init__(self, source: Source, info: AudioInfo, raw: RawFormat | None) -> None:
        self.num_samples = 0
        self.flags: tuple[str, ...] = ()
        self._source = source
        self._info = info
        self._raw = raw

    def __iter__(self) -> Iterator[Waveform]:
        """Yield consecutive waveforms of shape (T,), at most about 5 s each.

        Raises:
            AudioDecodeError: The file cannot be opened, holds no samples, or not the channel,
                the span or the kind of sample that is meant.
        """
        source = self._source
        parts = _parts(source.path, self._info, self._raw)
        # Only a file that is in one piece can be entered in its middle.
        position = source.start_sample if len(parts) == 1 else 0
        stop = None if source.num_samples is None else source.start_sample + source.num_samples
        for part in parts:
            for waveform in _read_part(part, source.channel, position if part is parts[0] else 0):
                first = max(0, source.start_sample - position)
                last = len(waveform) if stop is None else max(0, stop - position)
                wanted = waveform[first:last]
                position += len(waveform)
                if len(wanted):
                    self.num_samples += len(wanted)
                    yield wanted
                if stop is not None and position >= stop:
                    return
        if not self.num_samples:
            failures = [part.failure for part in parts if part.failure]
            end_sample = sum(part.end_sample for part in parts)
            raise AudioDecodeError(failures[0] if failures else _nothing(source, end_sample))
        self.flags = self._judge(parts)

    def _judge(self, parts: list[_Part]) -> tuple[str, ...]:
        """Compare what came with what was declared."""
        source = self._source
        # The header of a chained file speaks of its first link only.
        is_whole = source.start_sample == 0 and source.num_samples is None and len(parts) == 1
        declared = self._info.num_samples if is_whole else source.num_samples
        is_cut = any(part.is_cut for part in parts)
        is_wrong = False
        if is_whole and declared is None:
            # The prober passed over a length that so few bytes cannot hold.
            declared_s = sum(part.declared_s for part in parts)
            is_wrong = declared_s * MIN_BITS_PER_SECOND > self._info.num_bytes * 8
        if declared is not None:
            tolerance = max(TOLERANCE_S * SAMPLE_RATE, TOLERANCE_SHARE * declared)
            is_cut = is_cut or declared - self.num_samples > tolerance
            is_wrong = self.num_samples - declared > tolerance
        flags = {"truncated": is_cut, "duration_mismatch": is_wrong and not is_cut}
        return tuple(sorted(flag for flag, is_set in flags.items() if is_set))


def decode(source: Source, info: AudioInfo, raw: RawFormat | None = None) -> AudioStream:
    """Decode what a source means; nothing is opened before the first block is asked for.

    Args:
        source: File, and the channel and span of it that are meant.
        info: What its headers say.
        raw: How to read a headerless file.

    Returns:
        A stream of blocks of 16 kHz mono, whose memory does not grow with the file.
    """
    return AudioStream(source, info, raw)


def _parts(path: Path, info: AudioInfo, raw: RawFormat | None) -> list[_Part]:
    """What to read, in order."""
    try:
        # Python says plainly what is wrong; FFmpeg's error numbers can mean something else.
        with path.open("rb"):
            pass
        links = LINK_FINDERS[info.container](path) if info.container in LINK_FINDERS else []
    except OSError as error:
        msg = f"cannot open the file: {error.strerror}"
        raise AudioDecodeError(msg) from error
    if len(links) > 1:
        return [
            _Part((partial(SoundfileReader, link), partial(AvReader, link)), not link.is_whole)
            for link in links
        ]
    if info.container == "raw":
        return [_Part((partial(SoundfileReader, path, raw),))]
    if info.container in SOUNDFILE_CONTAINERS:
        openers: tuple[Callable[[], Reader], ...] = (
            partial(SoundfileReader, path),
            partial(AvReader, path),
        )
    else:
        openers = (partial(AvReader, path),)
    return [_Part(openers, any(not link.is_whole for link in links))]


def _read_part(part: _Part, channel: int | None, start_sample: int) -> Iterator[Waveform]:
    """Read from `start_sample` on with one reader, and go on with the next where it has more."""
    position = start_sample
    failures: list[ReadError] = []
    was_cut = part.is_cut
    for open_reader in part.openers:
        try:
            reader = open_reader()
        except ReadError as failure:
            failures.append(failure)
            continue
        with closing(reader):
            if position > start_sample and not _has_more(reader, position):
                continue
            part.declared_s = max(part.declared_s, reader.declared_s)
            try:
                skip = position - reader.seek(position)
                part.end_sample = position - skip
                for waveform in to_waveforms(reader.blocks(), channel, position - skip):
                    wanted = waveform[skip:]
                    skip -= len(waveform) - len(wanted)
                    position += len(wanted)
                    part.end_sample = position - skip
                    yield wanted
            except ReadError as failure:
                failures.append(failure)
                part.is_cut = True
                continue
            part.is_cut = was_cut or reader.is_cut
            if reader.is_trusted:
                break
    if len(failures) == len(part.openers) and position == start_sample:
        part.is_cut = True
        part.failure = str(failures[-1])


def _has_more(reader: Reader, position: int) -> bool:
    return reader.measure() > position + TAKE_OVER_S * SAMPLE_RATE


def _nothing(source: Source, end_sample: int) -> str:
    """Why there is nothing to give out."""
    if end_sample <= 0:
        return "no samples: the file has headers only"
    return (
        f"the span from {source.start_sample / SAMPLE_RATE:.3f} s on is beyond the end of the "
        f"file at {end_sample / SAMPLE_RATE:.3f} s"
    )
