"""One function for each format: a line of `results.jsonl` to the text of a file."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import orjson

from asrbatch.errors import ConfigError
from asrbatch.export.cues import by_channel, cues_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from asrbatch.results import Row

_ARROW = re.compile("--+>")


class Format(NamedTuple):
    """How a format is written, and how its files end."""

    ending: str
    write: Callable[[Row], str]


def write_srt(row: Row) -> str:
    """SubRip."""
    return "".join(
        f"{number}\n{_clock(cue.start_s, ',')} --> {_clock(cue.end_s, ',')}\n"
        # An arrow would be taken for the times of another cue.
        + _ARROW.sub("→", _speaker(cue.channel) + "\n".join(cue.lines))
        + "\n\n"
        for number, cue in enumerate(cues_of(row), 1)
    )


def write_vtt(row: Row) -> str:
    """WebVTT (w3.org/TR/webvtt1)."""
    cues = (
        f"{_clock(cue.start_s, '.')} --> {_clock(cue.end_s, '.')}\n"
        + ("" if cue.channel is None else f"<v Channel {cue.channel}>")
        + escape("\n".join(cue.lines), quote=False)
        + "\n\n"
        for cue in cues_of(row)
    )
    return "WEBVTT\n\n" + "".join(cues)


def write_txt(row: Row) -> str:
    """The text alone; a line for each segment where channels were heard apart."""
    if not any(segment.get("channel") is not None for segment in row["segments"]):
        return f"{row['text']}\n"
    return "".join(
        f"{_speaker(segment.get('channel'))}{segment['text']}\n"
        for segment in row["segments"]
        if segment["text"]
    )


def write_tsv(row: Row) -> str:
    """Segments with their times in milliseconds, as openai/whisper writes them."""
    lines = (
        f"{_ms(segment['start_s'])}\t{_ms(segment['end_s'])}\t{' '.join(segment['text'].split())}\n"
        for segment in row["segments"]
        if segment["text"]
    )
    return "start\tend\ttext\n" + "".join(lines)


def write_ctm(row: Row) -> str:
    """NIST's CTM: a line for each word (github.com/usnistgov/SCTK, `ctm` format).

    Raises:
        ConfigError: The times of the words are not known.
    """
    name = re.sub(r"\s", "_", row["path"])
    lines = []
    for segment in row["segments"]:
        channel = _channel(row, segment) + 1
        if segment["text"] and segment.get("words") is None:
            msg = (
                f"format: ctm needs the times of words, which {row['path']} lacks; "
                "choose another format, or results that have them"
            )
            raise ConfigError(msg)
        for word in segment.get("words") or ():
            lasts_s = word["end_s"] - word["start_s"]
            text = re.sub(r"\s", "_", word["word"].strip())
            lines.append(f"{name} {channel} {word['start_s']:.3f} {lasts_s:.3f} {text}\n")
    return "".join(lines)


def write_textgrid(row: Row) -> str:
    """Praat's TextGrid, long form: a tier of segments, and one of words where they are known."""
    end_s = max([row["offset_s"] + row["duration_s"], *(s["end_s"] for s in row["segments"])])
    tiers = {}
    for channel, segments in (by_channel(row) or {None: []}).items():
        name = "" if channel is None else f", channel {channel}"
        tiers[f"segments{name}"] = [(s["start_s"], s["end_s"], s["text"]) for s in segments]
        if any(segment.get("words") for segment in segments):
            tiers[f"words{name}"] = [
                (word["start_s"], word["end_s"], word["word"].strip())
                for segment in segments
                for word in segment.get("words") or ()
            ]
    lines = [
        *('File type = "ooTextFile"', 'Object class = "TextGrid"', ""),
        *("xmin = 0 ", f"xmax = {end_s:.6f} ", "tiers? <exists> ", f"size = {len(tiers)} "),
        "item []: ",
    ]
    for number, (name, spans) in enumerate(tiers.items(), 1):
        intervals = list(_tiled(spans, end_s))
        lines += [
            *(f"    item [{number}]:", '        class = "IntervalTier" '),
            *(f'        name = "{name}" ', "        xmin = 0 ", f"        xmax = {end_s:.6f} "),
            f"        intervals: size = {len(intervals)} ",
        ]
        for index, (start_s, stop_s, text) in enumerate(intervals, 1):
            quoted = " ".join(text.split()).replace('"', '""')
            lines += [
                f"        intervals [{index}]:",
                f"            xmin = {start_s:.6f} ",
                f"            xmax = {stop_s:.6f} ",
                f'            text = "{quoted}" ',
            ]
    return "\n".join(lines) + "\n"


def _tiled(
    spans: Iterable[tuple[float, float, str]], end_s: float
) -> Iterator[tuple[float, float, str]]:
    """Intervals without gaps, as Praat wants them; what lasts no time is left out."""
    at_s = 0.0
    for start_s, stop_s, text in spans:
        begin_s = max(at_s, start_s)
        if stop_s <= begin_s:
            continue
        if begin_s > at_s:
            yield at_s, begin_s, ""
        yield begin_s, stop_s, text
        at_s = stop_s
    if at_s < end_s:
        yield at_s, end_s, ""


def write_json(row: Row) -> str:
    """The line of the results, to be read by people too."""
    return orjson.dumps(row, option=orjson.OPT_INDENT_2).decode() + "\n"


def write_lhotse(row: Row) -> str:
    """Lhotse supervisions; the recording's id is its path."""
    lines = []
    for index, segment in enumerate(row["segments"]):
        if not segment["text"]:
            continue
        channel = _channel(row, segment)
        supervision = {
            "id": f"{row['path']}-{channel}-{index}",
            "recording_id": row["path"],
            "start": segment["start_s"],
            "duration": round(segment["end_s"] - segment["start_s"], 6),
            "channel": channel,
            "text": segment["text"],
            "language": segment["language"],
        }
        if segment.get("words"):
            supervision["alignment"] = {
                "word": [
                    [w["word"].strip(), w["start_s"], round(w["end_s"] - w["start_s"], 6), None]
                    for w in segment["words"]
                ]
            }
        lines.append(orjson.dumps(supervision).decode() + "\n")
    return "".join(lines)


def _channel(row: Row, segment: Row) -> int:
    """Channel of a segment, from 0."""
    own = segment.get("channel")
    return int(own if own is not None else row["channel"] or 0)


def _speaker(channel: int | None) -> str:
    return "" if channel is None else f"Channel {channel}: "


def _ms(seconds: float) -> int:
    return round(1000 * seconds)


def _clock(seconds: float, point: str) -> str:
    minutes, ms = divmod(_ms(seconds), 60_000)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{ms // 1000:02}{point}{ms % 1000:03}"


FORMATS = {
    "srt": Format(".srt", write_srt),
    "vtt": Format(".vtt", write_vtt),
    "txt": Format(".txt", write_txt),
    "tsv": Format(".tsv", write_tsv),
    "ctm": Format(".ctm", write_ctm),
    "textgrid": Format(".TextGrid", write_textgrid),
    "json": Format(".json", write_json),
    "lhotse": Format(".supervisions.jsonl", write_lhotse),
}


def parse_formats(text: str) -> dict[str, Format]:
    """Formats of a list such as `srt,vtt`.

    Raises:
        ConfigError: One is not known, or none is named.
    """
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in FORMATS:
            msg = f"format: {name!r} is not known; choose {', '.join(FORMATS)}"
            raise ConfigError(msg)
    if not names:
        msg = f"format: none is named; choose {', '.join(FORMATS)}"
        raise ConfigError(msg)
    return {name: FORMATS[name] for name in names}
