"""Recordings that belong together become one transcript."""

import json
from itertools import pairwise

import pytest
import soundfile

from asrbatch.data import Source
from asrbatch.options import build_config
from asrbatch.pipeline import Run
from asrbatch.results import read_results
from asrbatch.sessions import name_by_folder
from tests.conftest import SPEECH, asrbatch, read_jsonl


@pytest.fixture
def parts(tmp_path):
    """A meeting in three files, the third of which is called 10."""
    folder = tmp_path / "in" / "monday"
    folder.mkdir(parents=True)
    for clip, part in (("austen-0870", 1), ("austen-0920", 2), ("austen-0930", 10)):
        (folder / f"part-{part}.wav").write_bytes((SPEECH / f"{clip}.wav").read_bytes())
    return folder


def sessions(out):
    return read_jsonl(out.with_name("results.sessions.jsonl"))


def run(inputs, out, **options):
    options = {"engine": "null", "vad": False, "chunk_seconds": 5, "out": out} | options
    return list(Run(build_config(inputs, options)))


def test_a_folder_is_a_session_whose_times_run_on(parts, tmp_path):
    out = tmp_path / "results.jsonl"
    run(parts.parent, out, session_by_folder=True)
    (session,) = sessions(out)
    lengths = [soundfile.info(parts / f"part-{n}.wav").duration for n in (1, 2, 10)]
    assert session["path"] == session["session"] == "monday"
    assert [r["path"] for r in session["recordings"]] == [
        f"monday/part-{n}.wav" for n in (1, 2, 10)
    ]
    starts = [0, lengths[0], lengths[0] + lengths[1]]
    assert [r["start_s"] for r in session["recordings"]] == pytest.approx(starts, abs=1e-4)
    assert session["duration_s"] == pytest.approx(sum(lengths), abs=1e-4)
    bounds = [(s["start_s"], s["end_s"]) for s in session["segments"]]
    assert bounds[0][0] == 0
    assert all(a[1] == pytest.approx(b[0]) for a, b in pairwise(bounds))
    assert (session["missing"], session["flags"]) == ([], [])


def test_a_manifest_names_sessions_and_their_order(parts, tmp_path):
    manifest = tmp_path / "calls.jsonl"
    rows = [
        {"path": str(parts / "part-10.wav"), "session": "call"},
        {"path": str(parts / "part-1.wav"), "session": "call", "offset": 1.0, "duration": 2.0},
        {"path": str(parts / "part-2.wav")},
    ]
    manifest.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "results.jsonl"
    run(manifest, out)
    (session,) = sessions(out)
    assert [r["path"].rpartition("/")[2] for r in session["recordings"]] == [
        "part-10.wav",
        "part-1.wav",
    ]
    assert session["segments"][-1]["end_s"] == session["duration_s"]
    assert len(read_jsonl(out)) == 3


@pytest.mark.slow
def test_what_is_not_done_is_named_and_joins_later(parts, tmp_path):
    out = tmp_path / "results.jsonl"
    whole = (parts / "part-2.wav").read_bytes()
    (parts / "part-2.wav").write_bytes(b"no audio")
    run(parts.parent, out, session_by_folder=True)
    (session,) = sessions(out)
    assert (session["missing"], session["flags"]) == (["monday/part-2.wav"], ["incomplete"])
    (parts / "part-2.wav").write_bytes(whole)
    run(parts.parent, out, session_by_folder=True)
    (session,) = sessions(out)
    assert (session["missing"], len(session["recordings"])) == ([], 3)


def test_without_sessions_there_is_no_file(parts, tmp_path):
    out = tmp_path / "results.jsonl"
    run(parts.parent, out)
    assert not out.with_name("results.sessions.jsonl").exists()


@pytest.mark.slow
def test_a_session_reads_and_exports_as_one_recording(parts, tmp_path):
    out = tmp_path / "results.jsonl"
    run(parts.parent, out, session_by_folder=True, engine="ctranslate2", vad=True)
    path = out.with_name("results.sessions.jsonl")
    (session,) = read_results(path)
    assert session["text"].startswith("And Mr. John Dashwood had then")
    assert session["text"].endswith("made amiable himself.")
    done = asrbatch("export", path, "--format", "srt", "--output-dir", tmp_path / "srt")
    assert done.returncode == 0, done.stderr
    assert "amiable himself" in (tmp_path / "srt" / "monday.srt").read_text()


def test_files_right_in_the_root_are_named_after_it():
    sources = [
        Source("/x/calls/b/2.wav", "b/2.wav", root="/x/calls"),
        Source("/x/calls/a.wav", "a.wav", root="/x/calls"),
        Source("/x/calls/c.wav", "c.wav", session="own", root="/x/calls"),
    ]
    found = {source.name: source.session for source in name_by_folder(sources)}
    assert found == {"b/2.wav": "b", "a.wav": "calls", "c.wav": "own"}


def test_folders_of_one_name_are_sessions_of_their_own():
    names = [("/x/r1", "day/1.wav"), ("/x/r2", "day/2.wav"), ("/x/d", "a.wav"), ("/x/d", "d/b.wav")]
    sources = [Source(f"{root}/{name}", name, root=root) for root, name in names]
    found = {str(source.location): source.session for source in name_by_folder(sources)}
    assert found == {
        "/x/r1/day/1.wav": "/x/r1/day",
        "/x/r2/day/2.wav": "/x/r2/day",
        "/x/d/a.wav": "/x/d",
        "/x/d/d/b.wav": "/x/d/d",
    }
