"""Files, folders, globs and manifests become a sorted list of sources; no audio is opened."""

from asrbatch.scan.inputs import scan
from asrbatch.scan.options import DEFAULT_EXTENSIONS, ScanOptions, parse_extensions

__all__ = ["DEFAULT_EXTENSIONS", "ScanOptions", "parse_extensions", "scan"]
