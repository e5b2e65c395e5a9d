"""Headerless files: how the user describes them, and how libsndfile wants to be told."""

from __future__ import annotations

import re

from asrbatch.data import RawFormat
from asrbatch.errors import ConfigError

SUBTYPES = {
    "s8": ("PCM_S8", "LITTLE"),
    "u8": ("PCM_U8", "LITTLE"),
    "s16le": ("PCM_16", "LITTLE"),
    "s16be": ("PCM_16", "BIG"),
    "s24le": ("PCM_24", "LITTLE"),
    "s24be": ("PCM_24", "BIG"),
    "s32le": ("PCM_32", "LITTLE"),
    "s32be": ("PCM_32", "BIG"),
    "f32le": ("FLOAT", "LITTLE"),
    "f32be": ("FLOAT", "BIG"),
}
"""Encoding to libsndfile's subtype and byte order."""


def parse_raw_format(text: str) -> RawFormat:
    """Read `encoding:rate:channels`, for example `s16le:16000:1`.

    Raises:
        ConfigError: The text is not of this form, or names an encoding that is not known.
    """
    match = re.fullmatch(r"(\w+):([1-9][0-9]{0,6}):([1-9][0-9]{0,2})", text)
    if match is None or match[1] not in SUBTYPES:
        msg = (
            f"raw format: {text!r} is not encoding:rate:channels; give for example "
            f"s16le:16000:1, with one of the encodings {', '.join(SUBTYPES)}"
        )
        raise ConfigError(msg)
    return RawFormat(match[1], int(match[2]), int(match[3]))


def soundfile_options(raw: RawFormat) -> dict[str, str | int]:
    """What libsndfile must be told, since the file does not say it."""
    subtype, endian = SUBTYPES[raw.encoding]
    return {
        "samplerate": raw.sample_rate,
        "channels": raw.channels,
        "format": "RAW",
        "subtype": subtype,
        "endian": endian,
    }
