"""Transcripts in the formats of other programs, one file for each recording."""

from asrbatch.export.write import export_results

__all__ = ["export_results"]
