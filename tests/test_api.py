"""The Python interface."""

import pytest

import asrbatch
from tests.conftest import read_jsonl


def test_everything_exported_is_there():
    for name in asrbatch.__all__:
        assert getattr(asrbatch, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        _ = asrbatch.nothing


def test_transcripts_come_as_they_finish_and_failures_are_objects(tone, tmp_path):
    tone("a.wav")
    (tmp_path / "bad.wav").write_bytes(b"no audio")
    run = asrbatch.transcribe(tmp_path, engine="null")
    assert [t.path for t in run] == ["a.wav"]
    (failure,) = run.failures
    assert isinstance(failure, asrbatch.Failure)
    assert failure.path == "bad.wav"
    assert run.summary["files"] == {"done": 1, "failed": 1, "skipped": 0}


def test_with_out_it_writes_and_resumes_like_the_command_line(tone, tmp_path):
    tone("a.wav", folder=tmp_path / "in")
    out = tmp_path / "results.jsonl"
    assert len(list(asrbatch.transcribe(tmp_path / "in", engine="null", out=out))) == 1
    assert list(asrbatch.transcribe(tmp_path / "in", engine="null", out=out)) == []
    assert [row["path"] for row in read_jsonl(out)] == ["a.wav"]


def test_progress_shows_tqdms_own_bar(tone, tmp_path, capsys):
    tone("a.wav")
    list(asrbatch.transcribe(tmp_path, engine="null", progress=True))
    assert "audio" in capsys.readouterr().err


def test_wrong_options_are_refused_by_name():
    with pytest.raises(asrbatch.ConfigError, match="modle"):
        asrbatch.transcribe(".", modle="tiny.en")
