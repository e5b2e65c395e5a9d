"""What a scan takes and what it leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from asrbatch.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

_AUDIO = """
wav wave rf64 bwf w64 flac mp1 mp2 mp3 mpga ogg oga opus spx m4a m4b m4r aac adts ac3 eac3 dts
aif aiff aifc au snd caf sph sphere nist wma amr awb 3ga gsm g722 voc wv tta ape ra mka weba
raw pcm
"""
_VIDEO = """
mp4 m4v mov qt avi mkv webm ogv wmv asf flv f4v 3gp 3gpp 3g2 mpg mpeg m2v vob ts mts m2ts mxf rm
"""

DEFAULT_EXTENSIONS = frozenset((_AUDIO + _VIDEO).split())
"""Endings, in lower case and without a dot, of what the decoders read."""


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """Which files to take.

    Patterns are matched, case and all, against the name of a source and against its bare file
    name: `*` and `?` stay within one folder, `**` is any number of folders. `exclude` wins.
    """

    include: tuple[str, ...] = ()
    """Only what matches one of these; empty is everything."""
    exclude: tuple[str, ...] = ()
    extensions: frozenset[str] | None = DEFAULT_EXTENSIONS
    """Endings to take from folders, in lower case and without a dot; None is every file."""
    recursive: bool = True
    """Walk into the folders of a folder."""
    manifests: tuple[Path, ...] = ()
    """Manifests to read besides the inputs, whatever their endings."""


def parse_extensions(text: str) -> frozenset[str] | None:
    """Read a list of endings.

    Args:
        text: For example `wav,flac` or `.WAV .flac`; `any` stands for every file.

    Returns:
        Endings in lower case and without a dot; None for `any`.

    Raises:
        ConfigError: There is no ending in it.
    """
    endings = {item.lstrip("*.").lower() for item in text.replace(",", " ").split()} - {""}
    if not endings:
        msg = f"ext: {text!r} names no ending; give some such as wav,flac, or any for every file"
        raise ConfigError(msg)
    return None if "any" in endings else frozenset(endings)
