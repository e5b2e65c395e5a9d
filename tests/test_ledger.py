"""The ledger: nothing is lost, nothing is written twice, whatever happens when."""

import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asrbatch.data import Failure, Source, Transcript, TranscriptSegment
from asrbatch.errors import ConfigError, LockedError
from asrbatch.ledger import Ledger, failures_path
from tests.conftest import read_jsonl


def transcript(path="a.wav", *, content="c1", options="o1", size=10, mtime=20, text="hello"):
    segment = TranscriptSegment(0.0, 1.0, text, "en", "end")
    return Transcript(
        id=content,
        path=path,
        size_bytes=size,
        mtime_ns=mtime,
        session=None,
        channel=None,
        offset_s=0.0,
        duration_s=1.0,
        speech_s=1.0,
        skipped_s=0.0,
        language="en",
        text=text,
        segments=(segment,),
        flags=(),
        model="m",
        engine="e",
        options=options,
        rtf=0.1,
        created_at="2026-01-01T00:00:00+00:00",
    )


def source(name="a.wav", **fields):
    return Source(Path(name), name, **fields)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "results.jsonl"


def write_all(out, *transcripts, keys=("a.wav",)):
    ledger = Ledger(out)
    ledger.begin(keys)
    for item in transcripts:
        ledger.write(item)
    ledger.close()


def test_a_line_is_there_as_soon_as_it_is_written(out):
    ledger = Ledger(out)
    ledger.begin([])
    ledger.write(transcript())
    assert [row["text"] for row in read_jsonl(out)] == ["hello"]
    ledger.close()


def test_done_is_same_path_size_mtime_and_options(out):
    write_all(out, transcript())
    ledger = Ledger(out)
    assert ledger.is_done(source(), 10, 20, "o1")
    assert not ledger.is_done(source(), 11, 20, "o1")
    assert not ledger.is_done(source(), 10, 21, "o1")
    assert not ledger.is_done(source(), 10, 20, "o2")
    assert not ledger.is_done(source("b.wav"), 10, 20, "o1")
    ledger.close()


def test_a_renamed_file_is_known_by_its_content_but_a_copy_gets_its_own_line(out):
    write_all(out, transcript("old.wav"))
    ledger = Ledger(out)
    ledger.index_contents()
    renamed = source("new.wav")
    assert ledger.is_content_done("c1", "o1", renamed, frozenset({"new.wav"}))
    assert not ledger.is_content_done("c1", "o1", renamed, frozenset({"new.wav", "old.wav"}))
    assert not ledger.is_content_done("c1", "o2", renamed, frozenset({"new.wav"}))
    ledger.close()


PARTS = [
    source(),
    source(channel=0),
    source(channel=1),
    source(start_sample=8000, num_samples=4000),
    source(start_sample=8000),
    source(num_samples=4000),
    source(channel=1, start_sample=8000, num_samples=4000),
]


@pytest.mark.parametrize("done", PARTS, ids=lambda part: part.key)
def test_parts_of_a_file_are_told_apart(done, out):
    write_all(out, transcript(content=f"c1{done.part}"))
    ledger = Ledger(out)
    assert [part for part in PARTS if ledger.is_done(part, 10, 20, "o1")] == [done]
    ledger.close()


def test_no_part_of_a_file_replaces_another(out):
    write_all(out, *(transcript(content=f"c1{part.part}") for part in PARTS))
    write_all(out, transcript(content="c1", options="o2"))
    assert len(read_jsonl(out)) == len(PARTS)


def test_a_recording_done_anew_replaces_its_old_line(out):
    write_all(out, transcript(text="old"), transcript("b.wav", content="c2"))
    write_all(out, transcript(options="o2", text="new"))
    assert [(r["path"], r["text"]) for r in read_jsonl(out)] == [
        ("b.wav", "hello"),
        ("a.wav", "new"),
    ]


def test_a_crash_before_the_old_line_is_dropped_is_mended_at_the_next_start(out):
    lines = [transcript(text="old"), transcript(options="o2", text="new")]
    out.write_bytes(b"".join(orjson.dumps(t) + b"\n" for t in lines))
    write_all(out)
    assert [row["text"] for row in read_jsonl(out)] == ["new"]


@given(st.integers(0, 2000))
def test_a_file_torn_at_any_byte_is_repaired(tmp_path_factory, cut_at):
    out = tmp_path_factory.mktemp("torn") / "results.jsonl"
    whole = b"".join(
        orjson.dumps(transcript(f"{i}.wav", content=f"c{i}")) + b"\n" for i in range(3)
    )
    out.write_bytes(whole[:cut_at])
    done_before = whole[:cut_at].count(b"\n")
    write_all(out, transcript("new.wav", content="c9"))
    paths = [row["path"] for row in read_jsonl(out)]
    assert paths[-1] == "new.wav"
    assert len(paths) - 1 in {done_before, done_before + 1}
    assert paths[:-1] == [f"{i}.wav" for i in range(len(paths) - 1)]


def test_a_failure_is_written_at_once_and_tried_again(out):
    ledger = Ledger(out)
    ledger.begin(["a.wav"])
    ledger.fail(Failure("a.wav", "decode", "AudioDecodeError", "bad", 1))
    assert [row["path"] for row in read_jsonl(failures_path(out))] == ["a.wav"]
    ledger.close()

    ledger = Ledger(out)
    assert ledger.begin(["a.wav"]) == {"a.wav": 1}
    ledger.write(transcript())
    ledger.close()
    assert not failures_path(out).exists()


def test_failures_of_other_inputs_and_untried_ones_stay(out):
    ledger = Ledger(out)
    ledger.begin([])
    for name in ("a.wav", "other.wav"):
        ledger.fail(Failure(name, "decode", "AudioDecodeError", "bad", 2))
    ledger.close()
    ledger = Ledger(out)
    ledger.begin(["a.wav"])
    ledger.close()
    assert {row["path"]: row["attempts"] for row in read_jsonl(failures_path(out))} == {
        "a.wav": 2,
        "other.wav": 2,
    }


def test_a_second_run_is_kept_out_until_the_first_is_gone(out):
    ledger = Ledger(out)
    with pytest.raises(LockedError, match="another run"):
        Ledger(out)
    ledger.close()
    Ledger(out).close()


def test_a_killed_run_leaves_no_lock(out):
    code = f"import os; from pathlib import Path; from asrbatch.ledger import Ledger; Ledger(Path({str(out)!r})); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code], check=False)
    Ledger(out).close()


@pytest.mark.parametrize("content", [b"my notes\n", b"my notes", b"[1]\n", b'{"name": "x"}\n'])
def test_a_file_of_somebody_else_is_refused_and_not_touched(out, content):
    out.write_bytes(content)
    with pytest.raises(ConfigError, match="choose another --out"):
        Ledger(out)
    assert out.read_bytes() == content


def test_overwrite_removes_nothing_before_work_begins(out):
    write_all(out, transcript())
    Ledger(out, overwrite=True).close()
    assert len(read_jsonl(out)) == 1
    ledger = Ledger(out, overwrite=True)
    assert not ledger.is_done(source(), 10, 20, "o1")
    ledger.begin([])
    ledger.close()
    assert read_jsonl(out) == []


def test_no_room_leaves_no_half_line(out):
    code = f"""
import resource
from pathlib import Path
from asrbatch.ledger import Ledger
from asrbatch.errors import OutputError
from tests.test_ledger import transcript
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
ledger = Ledger(Path({str(out)!r}))
ledger.begin([])
ledger.write(transcript())
resource.setrlimit(resource.RLIMIT_FSIZE, ({600}, {600}))
try:
    ledger.write(transcript("b.wav", text="x" * 600))
except OutputError:
    raise SystemExit(9)
"""
    root = Path(__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", code], check=False, cwd=root, env=os.environ)
    assert done.returncode == 9
    assert [row["path"] for row in read_jsonl(out)] == ["a.wav"]


@pytest.mark.parametrize(
    "content",
    [
        b"line one\nimportant last line without newline",
        b'{"a":1}',
        b"RIFF\0\0\0\0WAVE\nwhatever else",
        b'[{"schema":1}]\n',
    ],
)
def test_a_file_that_is_not_ours_is_refused_and_left_as_it_is(content, out):
    out.write_bytes(content)
    with pytest.raises(ConfigError, match="holds no results"):
        Ledger(out)
    assert out.read_bytes() == content


def test_a_link_to_results_is_locked_and_written_as_what_it_leads_to(out):
    write_all(out, transcript())
    link = out.with_name("link.jsonl")
    link.symlink_to(out)
    first = Ledger(out)
    with pytest.raises(LockedError):
        Ledger(link)
    first.close()
    write_all(link, transcript("b.wav", content="c2"))
    assert link.is_symlink()
    assert [row["path"] for row in read_jsonl(out)] == ["a.wav", "b.wav"]
