"""Manifests of every form: what they mean, and what is refused, by line and field."""

import gzip
import json
import os
from pathlib import Path

import pytest

from asrbatch.data import Source
from asrbatch.errors import ConfigError
from asrbatch.scan import ScanOptions, scan
from asrbatch.scan.manifest import read_manifest


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name, *rows):
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def read_one(*rows, name="m.jsonl"):
    (source,) = read_manifest(write(name, *rows))
    return source


def refusal(*rows, name="m.jsonl"):
    with pytest.raises(ConfigError) as caught:
        read_manifest(write(name, *rows))
    return str(caught.value)


def test_all_fields_of_a_row_are_read():
    source = read_one(
        {
            "audio_filepath": "a.wav",
            "offset": 1.5,
            "duration": 2,
            "language": "en",
            "context": "ComfyUI",
            "session": "monday",
            "channel": 1,
            "text": "ignored",
        }
    )
    assert source == Source(Path("a.wav"), "a.wav", 24_000, 32_000, 1, "en", "ComfyUI", "monday")


@pytest.mark.parametrize("field", ["audio_filepath", "path", "audio"])
def test_the_path_has_several_names(field):
    assert read_one({field: "a.wav"}).name == "a.wav"


@pytest.mark.parametrize("field", ["language", "source_lang", "lang"])
def test_the_language_has_several_names(field):
    assert read_one({"path": "a.wav", field: "German"}).language == "de"


@pytest.mark.parametrize("language", ["auto", "Auto", "", None])
def test_a_language_may_be_left_open(language):
    assert read_one({"path": "a.wav", "language": language}).language is None


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"duration": 3.37}, (0, None)),
        ({"duration": 3.37, "offset": None}, (0, None)),
        ({"duration": 3, "offset": 0}, (0, 48_000)),
        ({"offset": 0.00005}, (1, None)),
        ({"offset": 2.0, "duration": None}, (32_000, None)),
    ],
)
def test_only_an_offset_makes_a_duration_cut(row, expected):
    source = read_one({"path": "a.wav"} | row)
    assert (source.start_sample, source.num_samples) == expected


def test_null_counts_as_absent():
    row = {"audio_filepath": None, "path": "a.wav", "channel": None, "context": None}
    assert read_one(row) == Source(Path("a.wav"), "a.wav")


@pytest.mark.parametrize("field", ["offset", "duration"])
@pytest.mark.parametrize("value", ["-1", "NaN", "Infinity", '"1.5"', "true", "[1]", "1e300"])
def test_seconds_that_cannot_be_are_refused(field, value):
    message = refusal('{"path": "a.wav"}', f'{{"path": "a.wav", "{field}": {value}}}')
    assert message.startswith(f"manifest: m.jsonl, line 2: {field} is ")


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"path": 5}, "path is 5; give the path of a file"),
        ({"path": ""}, "path is ''"),
        ({"path": "a\0b"}, "path is 'a\\x00b'"),
        ({"path": "\ud800"}, "path is '\\ud800'"),
        ({"text": "hello"}, "it has none of audio_filepath, path, audio"),
        ({"path": "a.wav", "channel": -1}, "channel is -1"),
        ({"path": "a.wav", "channel": 1.0}, "channel is 1.0"),
        ({"path": "a.wav", "channel": True}, "channel is True"),
        ({"path": "a.wav", "lang": 3}, "lang is 3; give text"),
        ({"path": "a.wav", "context": ["a"]}, "context is ['a']; give text"),
        ({"path": "a.wav", "offset": 1, "duration": 0}, "duration is 0, which is nothing"),
        ('{"path": ', "it is not JSON"),
        ('"a.wav"', "it is not a JSON object"),
        ({"schema": 1, "id": "x", "path": "a", "segments": []}, "it is a result of asrbatch"),
        (
            {"path": "a", "stage": "probe", "error": "E", "message": "", "attempts": 1},
            "it is a result of asrbatch",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_line(row, problem):
    message = refusal("", {"path": "a.wav"}, row)
    assert message.startswith("manifest: m.jsonl, line 3: ")
    assert problem in message


def test_what_cannot_be_is_refused_by_entry_of_an_array():
    message = refusal([{"path": "a.wav"}, "b.wav"], name="m.json")
    assert message.startswith("manifest: m.json, entry 2: it is not a JSON object")


def test_the_folder_of_the_manifest_is_where_paths_start():
    source = read_one({"path": "./x/../a.wav"}, name="sets/m.jsonl")
    assert (source.path, source.name) == (Path("sets/x/../a.wav"), "a.wav")


def test_a_file_that_is_only_in_the_working_directory_is_taken_there():
    Path("a.wav").touch()
    source = read_one("a.wav", name="sets/m.txt")
    assert (source.path, source.name) == (Path("a.wav"), "a.wav")


def test_an_absolute_path_below_the_manifest_is_named_from_there(work):
    source = read_one({"path": f"{work}/sets/x/a.wav"}, name="sets/m.jsonl")
    assert (source.path, source.name) == (work / "sets/x/a.wav", "x/a.wav")


def test_an_absolute_path_elsewhere_keeps_its_name(work):
    assert read_one({"path": "/no/a.wav"}, name="sets/m.jsonl").name == "/no/a.wav"


def test_names_of_two_manifests_do_not_clash():
    write("one/m.jsonl", {"path": "a.wav"})
    write("two/m.jsonl", {"path": "a.wav"})
    sources = scan(["one/m.jsonl", "two/m.jsonl"])
    assert [source.name for source in sources] == ["one/a.wav", "two/a.wav"]


def test_a_file_that_is_not_there_is_listed_all_the_same():
    assert read_one("gone.wav", name="m.txt") == Source(Path("gone.wav"), "gone.wav")


def test_a_listed_pipe_is_refused():
    os.mkfifo("x.wav")
    assert "line 1: path: x.wav is a pipe" in refusal("x.wav", name="m.txt")


def test_a_mark_at_the_start_and_blank_lines_are_ignored():
    Path("m.jsonl").write_bytes(b'\xef\xbb\xbf\r\n{"path": "a.wav"}\r\n\r\n{"path": "b.wav"}')
    assert [s.name for s in read_manifest(Path("m.jsonl"))] == ["a.wav", "b.wav"]


def test_line_separators_of_unicode_do_not_end_a_line():
    assert read_one('{"path": "a\u2028b.wav"}').name == "a\u2028b.wav"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("m.jsonl.gz", '{"path": "a.wav"}'),
        ("m.txt.gz", "a.wav"),
        ("wav.scp.gz", "id a.wav"),
        ("m.json.gz", '[{"path": "a.wav"}]'),
    ],
)
def test_every_form_may_be_gzipped(name, text):
    Path(name).write_bytes(gzip.compress(text.encode()))
    assert [source.name for source in scan([name])] == ["a.wav"]


def test_a_torn_gzip_file_is_refused():
    Path("m.jsonl.gz").write_bytes(gzip.compress(b'{"path": "a.wav"}')[:-9])
    with pytest.raises(ConfigError, match=r"m\.jsonl\.gz cannot be read"):
        scan(["m.jsonl.gz"])


@pytest.mark.parametrize("name", ["m.json", "m.jsonl", "m.txt", "m.lst"])
def test_an_empty_manifest_is_refused(name):
    assert refusal("", name=name) == (
        f"manifest: {name} lists nothing; give one with at least one entry"
    )


def test_a_manifest_that_is_not_there_is_refused():
    with pytest.raises(ConfigError, match=r"manifest: no\.jsonl cannot be read: there is no such"):
        scan([], ScanOptions(manifests=(Path("no.jsonl"),)))


def test_a_manifest_of_any_name_is_told_by_its_form():
    assert read_one({"path": "a.wav"}, name="set").name == "a.wav"
    assert read_one("a.wav", name="set").name == "a.wav"


def test_a_list_holds_paths_and_comments():
    path = write("m.lst", "# calls", "", "a b.wav", "[1].wav", "x/c.wav")
    assert [source.name for source in read_manifest(path)] == ["a b.wav", "[1].wav", "x/c.wav"]


def test_names_of_other_encodings_can_be_listed():
    Path("m.txt").write_bytes(b"caf\xe9.wav\n")
    (source,) = read_manifest(Path("m.txt"))
    assert os.fsencode(source.path) == b"caf\xe9.wav"
    assert source.name.encode() == rb"caf\udce9.wav"


def test_names_of_other_encodings_can_be_written_in_json():
    assert os.fsencode(read_one({"path": "caf\udce9.wav"}).path) == b"caf\xe9.wav"


def test_kaldi_lists_whole_recordings():
    path = write("data/wav.scp", "a audio/a.wav", "b audio/b 2.wav", "c /no/c.wav")
    assert read_manifest(path) == [
        Source(Path("data/audio/a.wav"), "audio/a.wav"),
        Source(Path("data/audio/b 2.wav"), "audio/b 2.wav"),
        Source(Path("/no/c.wav"), "/no/c.wav"),
    ]


@pytest.mark.parametrize("given", ["data", "data/segments"])
def test_kaldi_lists_segments(given):
    write("data/wav.scp", "a a.wav", "b b.wav")
    write("data/segments", "a-1 a 0 1.5", "a-2 a 1.5 -1", "b-1 b 0.5 1.00 1")
    assert scan([given]) == [
        Source(Path("data/a.wav"), "a.wav", 0, 24_000),
        Source(Path("data/a.wav"), "a.wav", 24_000, None),
        Source(Path("data/b.wav"), "b.wav", 8_000, 8_000, 1),
    ]


def test_kaldi_segments_are_not_read_for_the_table_of_recordings():
    write("data/segments", "a-1 a 0 1")
    assert len(scan([write("data/wav.scp", "a a.wav")])) == 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("a", "'a' is not: recording-id path"),
        ("a sox a.wav -t wav - |", "is a shell command, which is never run"),
        ("z b.wav", "recording-id 'z' is there twice"),
    ],
)
def test_recordings_of_kaldi_that_cannot_be_are_refused(line, problem):
    message = refusal("z z.wav", line, name="wav.scp")
    assert message.startswith("manifest: wav.scp, line 2: ")
    assert problem in message


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("s a 0", "is not: segment-id recording-id start end"),
        ("s b 0 1", "recording-id 'b' is not in wav.scp"),
        ("s a zero 1", "start is 'zero'"),
        ("s a 0 nan", "end is nan"),
        ("s a -1 1", "start is -1.0"),
        ("s a 2 1", "end is 1, which is not after start 2"),
        ("s a 0 1 x", "channel is 'x'"),
    ],
)
def test_segments_of_kaldi_that_cannot_be_are_refused(line, problem):
    write("wav.scp", "a a.wav")
    message = refusal(line, name="segments")
    assert message.startswith("manifest: segments, line 1: ")
    assert problem in message


def test_segments_of_kaldi_need_their_recordings():
    assert "needs the wav.scp" in refusal("s a 0 1", name="segments")


def test_a_folder_without_a_table_is_no_manifest(work):
    with pytest.raises(ConfigError, match=r"holds no wav\.scp"):
        read_manifest(work)


MONO = {
    "id": "a",
    "sources": [{"type": "file", "channels": [0], "source": "a.wav"}],
    "sampling_rate": 8000,
    "num_samples": 16000,
    "duration": 2.0,
    "channel_ids": [0],
}
STEREO = MONO | {
    "sources": [{"type": "file", "channels": [0, 1], "source": "b.wav"}],
    "channel_ids": [0, 1],
}
FOUR = MONO | {"sources": [{"type": "file", "channels": [0, 1, 2, 3], "source": "d.wav"}]}
SEVERAL = MONO | {
    "sources": [*MONO["sources"], {"type": "file", "channels": [1, 2], "source": "b.wav"}],
    "channel_ids": [0, 1, 2],
}


def cut(recording, start=0.0, duration=2.0, channel=0, **others):
    """A cut as Lhotse 1.3 writes it."""
    return {
        "id": "cut",
        "start": start,
        "duration": duration,
        "channel": channel,
        "supervisions": [],
        "recording": recording,
        "type": "MultiCut" if isinstance(channel, list) else "MonoCut",
    } | others


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (MONO, Source(Path("a.wav"), "a.wav")),
        (STEREO, Source(Path("b.wav"), "b.wav")),
        (cut(MONO), Source(Path("a.wav"), "a.wav")),
        (cut(MONO, 0.5, 0.7), Source(Path("a.wav"), "a.wav", 8_000, 11_200)),
        (cut(MONO, 0, 0.7), Source(Path("a.wav"), "a.wav", 0, 11_200)),
        (cut(STEREO, channel=1), Source(Path("b.wav"), "b.wav", channel=1)),
        (cut(STEREO, channel=[1]), Source(Path("b.wav"), "b.wav", channel=1)),
        (cut(STEREO, channel=[0, 1]), Source(Path("b.wav"), "b.wav")),
        (cut(SEVERAL, channel=0), Source(Path("a.wav"), "a.wav")),
        (cut(SEVERAL, channel=2), Source(Path("b.wav"), "b.wav", channel=1)),
    ],
)
def test_lhotse_is_read(row, expected):
    assert read_one(row) == expected


def test_lhotse_is_read_from_an_array():
    path = write("cuts.json", json.dumps([MONO, cut(STEREO)], indent=2))
    assert [source.key for source in read_manifest(path)] == ["a.wav", "b.wav#c0"]


def test_resampling_in_lhotse_changes_nothing():
    resampled = MONO | {"transforms": [{"name": "Resample", "kwargs": {}}]}
    assert read_one(resampled) == Source(Path("a.wav"), "a.wav")


@pytest.mark.parametrize(
    ("languages", "expected"),
    [(["English"], "en"), (["en", "en"], "en"), (["en", "de"], None), ([None], None)],
)
def test_lhotse_gives_a_language_where_supervisions_agree(languages, expected):
    supervisions = [{"id": "s", "language": language} for language in languages]
    assert read_one(cut(MONO, supervisions=supervisions)).language == expected


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"id": "x", "tracks": [], "type": "MixedCut"}, "type is 'MixedCut'"),
        ({"id": "x", "duration": 3.0, "type": "PaddingCut"}, "type is 'PaddingCut'"),
        (cut(None), "recording is not there"),
        (SEVERAL, "its channels lie in 2 of the files"),
        (cut(SEVERAL, channel=[0, 1]), "its channels lie in 2 of the files"),
        (cut(STEREO, channel=7), "its channels lie in 0 of the files"),
        (cut(FOUR, channel=[0, 1]), "channel is [0, 1] of [0, 1, 2, 3]; give one channel or all"),
        (MONO | {"sources": [{"type": "url", "channels": [0], "source": "s3://a"}]}, "'url'"),
        (MONO | {"sources": [{"type": "command", "channels": [0], "source": "x"}]}, "'command'"),
        (MONO | {"sources": "a.wav"}, "sources is 'a.wav'; give a list of objects"),
        (MONO | {"transforms": [{"name": "Speed"}]}, "transforms are Speed"),
        (cut(MONO, start=-1), "start is -1"),
        (cut(MONO, duration=0), "duration is 0"),
        (cut(MONO, duration=None), "duration is None"),
        (cut(MONO, channel="left"), "channel is 'left'"),
    ],
)
def test_lhotse_that_cannot_be_read_is_refused(row, problem):
    message = refusal(MONO, row)
    assert message.startswith("manifest: m.jsonl, line 2: ")
    assert problem in message
