"""Decode a file to blocks of 16 kHz mono, and say where it held less or more than it claims."""

from asrbatch.decode.raw import parse_raw_format
from asrbatch.decode.stream import AudioStream, decode

__all__ = ["AudioStream", "decode", "parse_raw_format"]
