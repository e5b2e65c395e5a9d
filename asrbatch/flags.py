"""Flags that more than one command has."""

from typing import Annotated

import typer

Inputs = Annotated[
    list[str] | None,
    typer.Argument(help="Files, folders, globs and manifests.", show_default=False),
]
Manifest = Annotated[
    list[str] | None,
    typer.Option(help="A manifest: JSONL, Kaldi wav.scp or segments, Lhotse, or a list of paths."),
]
Include = Annotated[list[str] | None, typer.Option(help="Only files that match this pattern.")]
Exclude = Annotated[list[str] | None, typer.Option(help="No files that match this pattern.")]
Ext = Annotated[
    str | None, typer.Option(help="File endings to take, such as wav,mp3; any tries every file.")
]
Recursive = Annotated[bool, typer.Option(help="Walk into folders.")]
RawFormat = Annotated[
    str | None, typer.Option(help="How to read .raw and .pcm files, such as s16le:16000:1.")
]
ChunkSeconds = Annotated[
    float, typer.Option(help="Longest segment; longer recordings are cut at pauses.")
]
BatchSeconds = Annotated[
    float, typer.Option(help="Audio seconds in a batch; this much decoded audio may wait.")
]
BatchCount = Annotated[int, typer.Option(help="Segments in a batch.")]
PaddingRatio = Annotated[float, typer.Option(help="Longest x count / sum in a batch, at most.")]
Workers = Annotated[
    int | None,
    typer.Option("--workers", "-j", help="Processes that decode.  [default: cores to spare]"),
]
Verbose = Annotated[int, typer.Option("--verbose", "-v", count=True, help="Say more; twice: all.")]
