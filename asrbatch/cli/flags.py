"""Flags that more than one command has, and how they become a run's configuration."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from asrbatch.errors import ConfigError

if TYPE_CHECKING:
    from asrbatch.pipeline import RunConfig


def _load_config(context: typer.Context, path: Path | None) -> Path | None:
    """Take defaults for options from a TOML file; what is typed wins."""
    if path is None or context.resilient_parsing:
        return path
    try:
        with path.open("rb") as file:
            found = {name.replace("-", "_"): value for name, value in tomllib.load(file).items()}
            vllm = found.pop("vllm", {})
    except (OSError, ValueError) as error:
        msg = f"{path} cannot be read: {error}"
        raise typer.BadParameter(msg) from error
    unknown = found.keys() - {parameter.name for parameter in context.command.params}
    if unknown:
        msg = f"{path}: {', '.join(sorted(unknown))} is no option of this command"
        raise typer.BadParameter(msg)
    if not isinstance(vllm, dict):
        msg = f"{path}: vllm is a table, such as [vllm] with kv_cache_dtype = 'fp8' below it"
        raise typer.BadParameter(msg)
    context.default_map = found
    if context.obj is not None:
        context.obj["vllm"] = vllm | context.obj.get("vllm", {})
    return path


Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        callback=_load_config,
        is_eager=True,
        help="Defaults for options, a TOML file with lines such as max-num-seqs = 128.",
    ),
]
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
Channels = Annotated[
    str, typer.Option(help="mix, split to hear each channel apart, or the number of one from 0.")
]
Vad = Annotated[
    bool, typer.Option("--vad/--no-vad", help="Look for speech, and cut where there is none.")
]
VadThreshold = Annotated[float, typer.Option(help="Probability from which on something is speech.")]
MinSilence = Annotated[
    float, typer.Option(help="Longer stretches without speech, in seconds, are left out.")
]
MaxRetries = Annotated[
    int, typer.Option(help="How often a doubtful segment is heard again, each time another way.")
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
FeatureCache = Annotated[
    Path | None,
    typer.Option(help="Folder to keep features in, for other runs over the same audio."),
]
FeatureCacheGb = Annotated[
    float, typer.Option(help="Most that --feature-cache may hold, in 10^9 bytes.")
]
FeatureMemoryGb = Annotated[
    float, typer.Option(help="Most of it that is kept in memory too, in 10^9 bytes.")
]
Verbose = Annotated[int, typer.Option("--verbose", "-v", count=True, help="Say more; twice: all.")]
Engine = Annotated[str, typer.Option(help="auto, vllm, ctranslate2, or null to measure the rest.")]
Model = Annotated[
    str | None, typer.Option("--model", "-m", help="Folder, hub name, or a size such as small.")
]
Dtype = Annotated[str, typer.Option(help="float32, float16, bfloat16, int8 ...")]
BatchSize = Annotated[int, typer.Option(help="ctranslate2: segments at a time.")]
CpuThreads = Annotated[int, typer.Option(help="ctranslate2: threads; 0 is all cores.")]
ShortWindows = Annotated[
    bool | None,
    typer.Option(
        "--short-windows/--full-windows",
        help="ctranslate2: encode short segments as they are, or padded to 30 s.  "
        "[default: short with tiny.en, which is shown to do no harm]",
    ),
]
MaxNumSeqs = Annotated[
    int | None,
    typer.Option(
        "--max-num-seqs",
        "--concurrency",
        help="vllm: segments at a time.  [default: by the card]",
    ),
]
MaxModelLen = Annotated[
    int | None, typer.Option(help="vllm: tokens of prompt and answer.  [default: 4096]")
]
MaxNewTokens = Annotated[
    int | None, typer.Option(help="Tokens a segment may take at most; its duration also limits.")
]
GpuMemoryUtilization = Annotated[float, typer.Option(help="vllm: share of the memory.")]
TensorParallelSize = Annotated[int, typer.Option(help="vllm: GPUs for one model.")]
EnforceEager = Annotated[bool, typer.Option(help="vllm: without CUDA graphs.")]


def to_config(inputs: list[str] | None, options: dict[str, Any]) -> RunConfig:
    """Make a configuration.

    Args:
        inputs: As they were typed.
        options: By their names.

    Raises:
        ConfigError: One of them cannot be, or no input is given.
    """
    from asrbatch.options import Options, build_config  # noqa: PLC0415

    if not inputs and not options["manifest"]:
        msg = "inputs: none is given; name files, folders, globs or manifests"
        raise ConfigError(msg)
    return build_config(inputs or [], Options(**options))  # type: ignore[typeddict-item]
