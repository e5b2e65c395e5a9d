"""Exports, read back by the programs they are for."""

import re
import unicodedata

import lhotse
import orjson
import pysubs2
import pytest
import webvtt
from hypothesis import given
from hypothesis import strategies as st
from praatio import textgrid

from asrbatch.errors import ConfigError
from asrbatch.export import export_results
from asrbatch.export.cues import LINE_CHARS, MAX_CUE_S, MAX_LINES, UNSPACED_LINE_CHARS, cues_of
from asrbatch.export.formats import FORMATS, parse_formats
from asrbatch.export.names import Identity, output_names
from asrbatch.export.tokens import timed_tokens
from tests.conftest import asrbatch


def segment(text, start_s=0.0, end_s=10.0, language="en", words=None):
    found = {"start_s": start_s, "end_s": end_s, "text": text, "language": language}
    return found | ({} if words is None else {"words": words})


def row(*segments, path="a/b.wav", **fields):
    end_s = max((s["end_s"] for s in segments), default=1.0)
    return {
        "schema": 1, "id": "x", "path": path, "channel": None, "offset_s": 0.0,
        "duration_s": end_s, "language": "en", "root": "",
        "text": " ".join(s["text"] for s in segments), "segments": list(segments),
    } | fields  # fmt: skip


def word(text, start_s, end_s):
    return {"word": text, "start_s": start_s, "end_s": end_s}


DASHWOOD = segment(
    "He was not an ill-disposed young man, unless to be rather cold hearted and rather selfish "
    "is to be ill-disposed. Had he married a more amiable woman, he might have been made still "
    'more respectable than he was: <b>"amiable"</b> & so on.',
    0.5,
    20.0,
)
SPOKEN = segment(
    "Four, one. Off!",
    20.0,
    24.0,
    words=[word("Four", 20.3, 20.6), word("one", 20.9, 21.3), word("Off", 22.5, 22.9)],
)
CHINESE = segment(
    "今天天气很好,我们去公园走走吧。明天再说,因为今天晚上还有 vLLM 的课。", 24.0, 33.0, "zh"
)
RECORDING = row(DASHWOOD, SPOKEN, segment("", 33.0, 36.0), CHINESE)


def test_pieces_joined_are_the_text_and_times_of_words_are_kept():
    tokens = timed_tokens(SPOKEN)
    assert [tuple(token) for token in tokens] == [
        ("Four, ", 20.3, 20.6),
        ("one. ", 20.9, 21.3),
        ("Off!", 22.5, 22.9),
    ]
    pieces = [token.text for token in timed_tokens(CHINESE)]
    assert "".join(pieces) == CHINESE["text"]
    assert pieces[5:8] == ["好,", "我", "们"]
    assert "vLLM " in pieces


@given(st.text(max_size=200), st.sampled_from(["en", "zh"]))
def test_no_text_is_lost_and_no_cue_overlaps(text, language):
    one = segment(text, 3.0, 25.0, language)
    cues = cues_of(row(one))
    shown = "".join("".join(cue.lines) for cue in cues)
    assert "".join(shown.split()) == "".join(text.split())
    ends = [3.0, *(cue.end_s for cue in cues)]
    assert all(end <= cue.start_s + 1e-9 for end, cue in zip(ends, cues, strict=False))
    assert all(cue.end_s >= cue.start_s for cue in cues)


def test_subtitles_are_short_enough_to_be_read():
    cues = cues_of(RECORDING)
    for cue in cues:
        width = UNSPACED_LINE_CHARS if cue.start_s >= 24 else LINE_CHARS
        assert len(cue.lines) <= MAX_LINES
        assert max(map(len, cue.lines)) <= width
        assert cue.end_s - cue.start_s <= MAX_CUE_S
    assert cues[0].lines == (
        "He was not an ill-disposed young man,",
        "unless to be rather cold hearted and",
    )


def test_subtitles_end_with_a_sentence_and_at_a_pause():
    cues = [cue for cue in cues_of(RECORDING) if 20 <= cue.start_s < 24]
    assert [cue.lines for cue in cues] == [("Four, one.",), ("Off!",)]
    gap = segment("one two", 0, 9, words=[word("one", 1, 1.2), word("two", 4, 4.4)])
    assert [tuple(cue)[:3] for cue in cues_of(row(gap))] == [(1, 1.8, ("one",)), (4, 4.8, ("two",))]


def test_srt_is_read_by_pysubs2():
    plain = row(segment("Four --> one & two.", 3721.0, 3723.004))
    events = pysubs2.SSAFile.from_string(FORMATS["srt"].write(plain), "srt").events
    assert [(e.start, e.end, e.plaintext) for e in events] == [
        (3721000, 3723004, "Four → one & two.")
    ]
    events = pysubs2.SSAFile.from_string(
        FORMATS["srt"].write(RECORDING), "srt", keep_unknown_html_tags=True
    ).events
    cues = cues_of(RECORDING)
    assert [(e.start, e.end) for e in events] == [
        (round(1000 * cue.start_s), round(1000 * cue.end_s)) for cue in cues
    ]
    assert len(events) > 5


def test_vtt_is_read_by_webvtt():
    captions = webvtt.from_string(FORMATS["vtt"].write(RECORDING))
    cues = cues_of(RECORDING)
    assert [(c.start_in_seconds, tuple(c.lines)) for c in captions] == [
        (int(cue.start_s), tuple(map(vtt_escaped, cue.lines))) for cue in cues
    ]
    assert [c.start for c in captions][:2] == ["00:00:00.500", captions[0].end]


def vtt_escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def test_textgrid_is_read_by_praatio(tmp_path):
    path = tmp_path / "a.TextGrid"
    quoted = row(segment('say "no"', 0.5, 2.0), SPOKEN, channel=1)
    path.write_text(FORMATS["textgrid"].write(quoted), encoding="utf-8")
    grid = textgrid.openTextgrid(str(path), includeEmptyIntervals=False)
    assert grid.maxTimestamp == 24.0
    assert [tuple(e) for e in grid.getTier("segments").entries] == [
        (0.5, 2.0, 'say "no"'),
        (20.0, 24.0, "Four, one. Off!"),
    ]
    assert [tuple(e) for e in grid.getTier("words").entries] == [
        (20.3, 20.6, "Four"),
        (20.9, 21.3, "one"),
        (22.5, 22.9, "Off"),
    ]


def test_lhotse_reads_its_supervisions(tmp_path):
    path = tmp_path / "a.supervisions.jsonl"
    path.write_text(FORMATS["lhotse"].write(RECORDING), encoding="utf-8")
    found = list(lhotse.SupervisionSet.from_file(path))
    assert [(s.recording_id, s.start, s.end, s.text, s.language, s.channel) for s in found] == [
        ("a/b.wav", s["start_s"], s["end_s"], s["text"], s["language"], 0)
        for s in (DASHWOOD, SPOKEN, CHINESE)
    ]
    assert [(a.symbol, a.start, a.end) for a in found[1].alignment["word"]] == [
        ("Four", 20.3, 20.6),
        ("one", 20.9, 21.3),
        ("Off", 22.5, 22.9),
    ]


DIALOGUE = row(
    segment("Good morning.", 0.0, 4.0) | {"channel": 0},
    segment("Hello?", 1.0, 2.0) | {"channel": 1},
    segment("Who is there?", 4.0, 6.0) | {"channel": 0},
)


def test_channels_that_were_heard_apart_stay_apart(tmp_path):
    cues = cues_of(DIALOGUE)
    assert [(cue.start_s, cue.end_s, cue.channel) for cue in cues] == [
        (0.0, 4.0, 0), (1.0, 2.0, 1), (4.0, 6.0, 0),
    ]  # fmt: skip
    captions = webvtt.from_string(FORMATS["vtt"].write(DIALOGUE)).captions
    assert [c.voice for c in captions] == ["Channel 0", "Channel 1", "Channel 0"]
    assert [c.text for c in captions] == ["Good morning.", "Hello?", "Who is there?"]
    assert FORMATS["txt"].write(DIALOGUE).splitlines()[1] == "Channel 1: Hello?"
    path = tmp_path / "a.TextGrid"
    path.write_text(FORMATS["textgrid"].write(DIALOGUE), "utf-8")
    grid = textgrid.openTextgrid(str(path), includeEmptyIntervals=False)
    assert grid.tierNames == ("segments, channel 0", "segments, channel 1")
    rows = [orjson.loads(line) for line in FORMATS["lhotse"].write(DIALOGUE).splitlines()]
    assert [found["channel"] for found in rows] == [0, 1, 0]


def test_tables_and_texts():
    short = row(segment("one\ttwo", 0.0, 1.5), SPOKEN)
    assert FORMATS["tsv"].write(short) == (
        "start\tend\ttext\n0\t1500\tone two\n20000\t24000\tFour, one. Off!\n"
    )
    assert FORMATS["txt"].write(row(SPOKEN)) == "Four, one. Off!\n"
    assert orjson.loads(FORMATS["json"].write(RECORDING)) == RECORDING
    assert FORMATS["ctm"].write(row(SPOKEN, path="a b.wav", channel=1)) == (
        "a_b.wav 2 20.300 0.300 Four\na_b.wav 2 20.900 0.400 one\na_b.wav 2 22.500 0.400 Off\n"
    )
    with pytest.raises(ConfigError, match=r"ctm needs the times of words, which a/b.wav lacks"):
        FORMATS["ctm"].write(RECORDING)


def test_the_tree_is_mirrored_and_names_never_collide():
    identities = [
        Identity("a/b.wav", "", ""),
        Identity("a/c.wav", "", ""),
        Identity("a/c.mp3", "", ""),
        Identity("A/C.WAV", "", ""),
        Identity("d.wav", "#c0", ""),
        Identity("d.wav", "#c1@16000+", ""),
    ]
    names = output_names(identities)
    assert names[:3] == ["a/b", "a/c.wav", "a/c.mp3"] or names[0] == "a/b"
    assert names[4:] == ["d.c0", "d.c1.16000+"]
    folded = [name.casefold() for name in names]
    assert len(set(folded)) == len(folded)


@given(
    st.lists(
        st.builds(
            Identity,
            st.text(st.sampled_from("aA./\\é\0\n~"), min_size=1, max_size=8),
            st.sampled_from(["", "#c0", "#@1+2"]),
            st.sampled_from(["", "r"]),
        ),
        unique=True,
        max_size=12,
    )
)
def test_no_name_is_given_twice_nor_leads_out_of_the_folder(identities):
    names = output_names(identities)
    folded = {unicodedata.normalize("NFC", name).casefold() for name in names}
    assert len(folded) == len(names)
    for name in names:
        assert not name.startswith("/")
        assert ".." not in name.split("/")
        assert re.search(r"[\0\n]", name) is None


def test_long_names_stay_short_enough_for_a_file_system(tmp_path):
    long = row(segment("one"), path="é" * 126 + ".wav")
    results = tmp_path / "results.jsonl"
    results.write_bytes(orjson.dumps(long) + b"\n")
    assert export_results(results, "lhotse,txt", tmp_path / "out") == 2


def test_a_recording_done_anew_is_exported_as_it_is_now(tmp_path):
    results = tmp_path / "results.jsonl"
    results.write_bytes(
        b"".join(
            orjson.dumps(row(segment(text), path="../x/a.wav")) + b"\n" for text in ("old", "new")
        )
    )
    assert export_results(results, "txt", tmp_path / "out") == 1
    assert (tmp_path / "out" / "x" / "a.txt").read_text() == "new\n"
    with pytest.raises(ConfigError, match=r"x/a.txt is there already"):
        export_results(results, "txt", tmp_path / "out")
    assert export_results(results, "txt", tmp_path / "out", overwrite=True) == 1


def test_the_command_tells_what_it_wrote(tmp_path):
    results = tmp_path / "results.jsonl"
    results.write_bytes(orjson.dumps(RECORDING) + b"\n")
    done = asrbatch("export", results, "--format", "srt,json", "--output-dir", tmp_path / "out")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"2 files in {tmp_path / 'out'}\n"
    assert sorted(p.name for p in (tmp_path / "out" / "a").iterdir()) == ["b.json", "b.srt"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.jsonl", "-o", "x"], "there is no file nowhere.jsonl"),
        (["pyproject.toml", "-o", "x"], "is not JSON"),
        (["x", "-o", "x", "-f", "pdf"], "'pdf' is not known"),
    ],
)
def test_wrong_usage_exits_2_with_one_line(arguments, says):
    done = asrbatch("export", *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_formats_are_listed_once_each():
    assert list(parse_formats("vtt, SRT,vtt")) == ["vtt", "srt"]
