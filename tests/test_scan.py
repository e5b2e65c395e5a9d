"""Files, folders and globs: what is taken, under which name, in which order."""

import logging
import os
from pathlib import Path

import pytest

from asrbatch.errors import ConfigError
from asrbatch.scan import DEFAULT_EXTENSIONS, ScanOptions, parse_extensions, scan


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def touch(*names):
    for name in names:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def write(name, text):
    touch(name)
    Path(name).write_text(text, encoding="utf-8")


def names(*inputs, **options):
    return [source.name for source in scan(inputs, ScanOptions(**options))]


def test_a_file_is_named_without_its_folder():
    touch("calls/monday/a.wav")
    (source,) = scan(["calls/monday/a.wav"])
    assert (source.path, source.name) == (Path("calls/monday/a.wav"), "a.wav")


def test_a_file_is_taken_whatever_its_ending():
    touch("a.recording")
    assert names("a.recording") == ["a.recording"]


def test_a_folder_is_walked_and_sorted_by_parts():
    touch("m/b.wav", "m/a/z.wav", "m/a.wav", "m/a-1/y.wav", "m/B.wav")
    assert names("m") == ["B.wav", "a/z.wav", "a-1/y.wav", "a.wav", "b.wav"]


def test_paths_of_a_folder_can_be_opened_from_here():
    touch("m/a/z.wav")
    assert scan(["m"])[0].path == Path("m/a/z.wav")


def test_inputs_keep_their_order():
    touch("z/1.wav", "a/2.wav")
    assert names("z", "a") == ["1.wav", "2.wav"]


def test_hidden_files_and_folders_are_left_out():
    touch("m/a.wav", "m/.b.wav", "m/.cache/c.wav")
    assert names("m") == ["a.wav"]


def test_a_hidden_folder_can_be_named():
    touch(".m/a.wav")
    assert names(".m") == ["a.wav"]


def test_endings_are_matched_whatever_their_case():
    touch("m/a.WAV", "m/b.Mp3", "m/notes.md", "m/wav")
    assert names("m") == ["a.WAV", "b.Mp3"]


def test_every_file_is_taken_without_endings():
    touch("m/a", "m/b.xyz")
    assert names("m", extensions=None) == ["a", "b.xyz"]


def test_folders_within_are_left_out_where_not_recursive():
    touch("m/a.wav", "m/b/c.wav")
    assert names("m", recursive=False) == ["a.wav"]


def test_an_empty_folder_that_is_named_like_audio_is_to_be_seen():
    touch("m/a.wav")
    Path("m/x.wav").mkdir()
    Path("m/empty").mkdir()
    assert names("m") == ["a.wav", "x.wav"]


def test_a_folder_named_like_audio_is_walked():
    touch("m/x.wav/a.wav")
    assert names("m") == ["x.wav/a.wav"]


def test_a_link_to_a_file_is_taken():
    touch("store/a.wav", "m/b.wav")
    Path("m/l.wav").symlink_to("../store/a.wav")
    assert names("m") == ["b.wav", "l.wav"]


def test_a_link_that_leads_nowhere_is_taken_so_that_it_fails_visibly():
    touch("m/a.wav")
    Path("m/l.wav").symlink_to("gone.wav")
    Path("m/o.wav").symlink_to("o.wav")
    assert names("m") == ["a.wav", "l.wav", "o.wav"]


def test_a_linked_folder_is_followed():
    touch("store/a.wav")
    Path("m").mkdir()
    Path("m/link").symlink_to("../store")
    assert names("m") == ["link/a.wav"]


def test_links_in_a_loop_end():
    touch("m/a/x.wav", "m/b/y.wav")
    Path("m/a/up").symlink_to("..")
    Path("m/a/to-b").symlink_to("../b")
    Path("m/b/to-a").symlink_to("../a")
    assert names("m") == ["a/x.wav", "b/y.wav"]


def test_a_folder_counts_under_its_own_name_and_not_under_a_link():
    touch("m/z/x.wav")
    Path("m/a").symlink_to("z")
    assert names("m") == ["z/x.wav"]


def test_a_pipe_in_a_folder_is_left_out():
    touch("m/a.wav")
    os.mkfifo("m/x.wav")
    assert names("m") == ["a.wav"]


def test_a_pipe_as_input_is_refused():
    os.mkfifo("x.wav")
    with pytest.raises(ConfigError, match=r"x\.wav is a pipe"):
        scan(["x.wav"])


def test_a_folder_without_permission_is_warned_of(monkeypatch, caplog):
    touch("m/a.wav", "m/shut/b.wav")
    scandir = os.scandir

    def refuse(folder):
        if Path(folder).name == "shut":
            raise PermissionError(13, "Permission denied")
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    with caplog.at_level(logging.WARNING):
        assert names("m") == ["a.wav"]
    assert "m/shut: Permission denied" in caplog.text


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("calls/*.wav", ["a.wav"]),
        ("./calls/**/*.wav", ["1/b.wav", "1/x/c.wav", "a.wav"]),
        ("calls/*/b.wav", ["1/b.wav"]),
        ("calls/[!2]/*", ["1/b.wav", "1/x/c.wav"]),
        ("calls/**", ["1/b.wav", "1/x/c.wav", "2/d.flac", "a.wav"]),
        ("c*/1", ["calls/1/b.wav", "calls/1/x/c.wav"]),
    ],
)
def test_a_glob_is_expanded(pattern, expected):
    touch("calls/a.wav", "calls/1/b.wav", "calls/1/x/c.wav", "calls/2/d.flac", "calls/.h/e.wav")
    assert names(pattern) == expected


def test_a_glob_that_spells_an_ending_takes_it():
    touch("m/a.voicemail", "m/b.txt")
    assert names("m/*.voicemail") == ["a.voicemail"]


def test_a_glob_ends_where_links_loop():
    touch("m/a/x.wav")
    Path("m/a/up").symlink_to("..")
    assert names("m/**/*.wav") == ["a/x.wav"]


def test_a_path_that_exists_is_no_glob():
    touch("a[1].wav", "a1.wav", "m[1]/b.wav")
    assert names("a[1].wav", "m[1]") == ["a[1].wav", "b.wav"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"include": ("a*",)}, ["a.wav", "x/a.wav"]),
        ({"include": ("x/*",)}, ["x/a.wav", "x/b.wav"]),
        ({"include": ("**/b.wav",)}, ["b.wav", "x/b.wav", "x/y/b.wav"]),
        ({"exclude": ("x/**",)}, ["a.wav", "b.wav"]),
        ({"include": ("a.wav",), "exclude": ("x/*",)}, ["a.wav"]),
    ],
)
def test_patterns_choose_and_exclude_wins(options, expected):
    touch("m/a.wav", "m/b.wav", "m/x/a.wav", "m/x/b.wav", "m/x/y/b.wav")
    assert names("m", **options) == expected


def test_a_star_stays_within_a_folder():
    touch("m/x/y/a.wav", "m/x/b.wav")
    assert names("m", include=("x/*.wav",)) == ["x/b.wav"]


def test_names_that_clash_get_their_folders_as_typed():
    touch("one/a.wav", "one/b.wav", "two/a.wav")
    assert names("./one/", "two") == ["one/a.wav", "b.wav", "two/a.wav"]


def test_names_that_clash_with_a_prefixed_name_are_prefixed_too():
    touch("p/a/x.wav", "a/x.wav", "b/x.wav")
    assert names("p", "a", "b") == ["p/a/x.wav", "a/x.wav", "b/x.wav"]


def test_files_that_clash_get_their_folders():
    touch("one/a.wav", "two/a.wav")
    assert names("one/a.wav", "two/a.wav") == ["one/a.wav", "two/a.wav"]


@pytest.mark.parametrize("again", ["m/a.wav", "m", "./m/../m", "m/*.wav", "link"])
def test_a_file_that_is_named_twice_is_taken_once(again):
    touch("m/a.wav")
    Path("link").symlink_to("m")
    assert names("m", again) == ["a.wav"]


def test_inputs_that_overlap_take_each_file_once():
    touch("m/x/a.wav", "m/b.wav")
    assert names("m", "m/x") == ["b.wav", "x/a.wav"]


def test_one_file_under_one_name_in_two_folders_is_taken_once():
    touch("one/a.wav")
    Path("two").mkdir()
    Path("two/a.wav").symlink_to("../one/a.wav")
    assert names("one", "two") == ["a.wav"]


def test_a_name_that_is_not_utf8_is_escaped_and_its_path_kept():
    raw = os.fsdecode(b"m/caf\xe9.wav")
    touch(raw)
    (source,) = scan(["m"])
    assert source.name.encode() == rb"caf\udce9.wav"
    assert os.fsencode(source.path) == b"m/caf\xe9.wav"


def test_an_escaped_name_never_equals_another():
    touch(os.fsdecode(b"m/\xe9.wav"), r"m/\udce9.wav")
    assert len(set(names("m"))) == 2


def test_a_kaldi_folder_is_a_manifest():
    touch("audio/a.wav", "data/text")
    write("data/wav.scp", "a ../audio/a.wav\n")
    assert names("data") == ["../audio/a.wav"]


def test_a_folder_of_audio_with_a_table_is_a_folder():
    touch("m/a.wav", "m/b.wav")
    write("m/wav.scp", "a a.wav\n")
    assert names("m") == ["a.wav", "b.wav"]


def test_manifests_come_after_inputs():
    touch("m/z.wav", "l/a.wav")
    write("l/set", "a.wav\n")
    assert names("m", manifests=(Path("l/set"),)) == ["z.wav", "a.wav"]


def test_spans_of_a_file_do_not_clash():
    touch("m/a.wav")
    write("m/l.jsonl", '{"path": "a.wav"}\n{"path": "a.wav", "offset": 1}\n')
    assert [s.key for s in scan(["m", "m/l.jsonl"])] == ["a.wav", "a.wav#@16000+"]


def test_a_name_never_equals_the_key_of_another():
    touch("m/a.wav", "m/a.wav#c1")
    write("m/l.jsonl", '{"path": "a.wav", "channel": 1}\n{"path": "a.wav#c1"}\n')
    assert len({s.key for s in scan(["m/l.jsonl"])}) == 2


def test_an_input_that_is_not_there_is_refused():
    with pytest.raises(ConfigError, match=r"no such file or folder: \./meetings; check the path"):
        scan(["./meetings"])


def test_a_glob_that_matches_nothing_is_refused():
    with pytest.raises(ConfigError, match=r"nothing matches \./no/\*\.wav"):
        scan(["./no/*.wav"])


def test_an_empty_input_is_not_the_working_directory():
    touch("a.wav")
    with pytest.raises(ConfigError, match="one of them is empty"):
        scan([""])


def test_no_input_is_refused():
    with pytest.raises(ConfigError, match="none is given"):
        scan([])


def test_nothing_found_says_where_it_looked_and_what_for():
    touch("m/a.txt", "m/b.md")
    with pytest.raises(ConfigError, match=r"no audio in m; .*left out: 2; --ext any .* flac wav$"):
        scan(["m"], ScanOptions(extensions=frozenset({"wav", "flac"})))


def test_nothing_found_names_the_patterns_where_there_are_any():
    touch("m/a.wav")
    with pytest.raises(ConfigError, match=r"left out: 1; check --include and --exclude"):
        scan(["m"], ScanOptions(exclude=("*.wav",)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("wav,flac", {"wav", "flac"}),
        (" .WAV  *.Mp3,", {"wav", "mp3"}),
        ("any", None),
        ("ANY", None),
    ],
)
def test_endings_are_read(text, expected):
    assert parse_extensions(text) == expected


@pytest.mark.parametrize("text", ["", " , ", "."])
def test_no_ending_is_refused(text):
    with pytest.raises(ConfigError, match="names no ending"):
        parse_extensions(text)


def test_the_default_endings_can_match():
    assert all(ending == ending.lower().strip(".") for ending in DEFAULT_EXTENSIONS)
