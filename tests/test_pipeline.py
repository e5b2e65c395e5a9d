"""The pipeline: scheduling, order, copies, failures; with engines that need no model."""

import json
import time
from itertools import pairwise

import numpy as np
import pytest
import soundfile

import asrbatch.pipeline.run
from asrbatch.data import SAMPLE_RATE, Failure, MelParams, Transcript
from asrbatch.engines import EngineConfig, ModelSpec
from asrbatch.errors import SegmentError
from asrbatch.options import build_config
from asrbatch.pipeline import Run, RunConfig
from tests.conftest import read_jsonl
from tests.fake_engine import FakeEngine


class ScriptedEngine(FakeEngine):
    """Answers with the key of each segment."""

    def __init__(self):
        super().__init__()
        self.most = 0
        self.submitted = 0
        self.refused = set()

    def submit(self, segment, audio):
        assert audio.shape == (128, max(segment.num_samples, SAMPLE_RATE) // 160)
        if segment.recording_id in self.refused:
            raise SegmentError("segment 0: too long for this engine")
        super().submit(segment, audio)
        self.submitted += 1
        self.most = max(self.most, len(self.queue))

    def answer(self, segment):
        time.sleep(0.01)  # slower than the front end
        return {"text": f"{segment.recording_id}:{segment.index}"}


@pytest.fixture
def engine(monkeypatch):
    engine = ScriptedEngine()
    monkeypatch.setattr(asrbatch.pipeline.run, "load_engine", lambda *_: engine)
    return engine


def run(folder, out=None, **options):
    return Run(build_config(folder, {"engine": "null", "vad": False, "out": out, **options}))


def test_hypotheses_that_come_in_any_order_find_their_place(engine, tone, tmp_path):
    tone("long.wav", seconds=10)
    (transcript,) = run(tmp_path, chunk_seconds=2)
    assert transcript.text.split() == [f"long.wav:{i}" for i in range(len(transcript.segments))]
    assert transcript.segments[-1].end_s == transcript.duration_s == 10.0


def test_the_engine_is_kept_full_and_never_holds_more_than_its_capacity(engine, tone, tmp_path):
    for i in range(30):
        tone(f"{i}.wav", seconds=0.2)
    assert len(list(run(tmp_path))) == 30
    assert engine.most == engine.capacity


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("batch_count", [1, 512])
def test_workers_and_batches_do_not_change_the_results(
    engine, tone, tmp_path, workers, batch_count
):
    for i in range(8):
        tone(f"{i}.wav", seconds=0.3 + i)
    transcripts = run(tmp_path, workers=workers, batch_count=batch_count, chunk_seconds=3)
    texts = {t.path: t.text for t in transcripts}
    assert len(texts) == 8
    assert all(text.startswith(f"{path}:0") for path, text in texts.items())


def test_segments_tile_the_recording_to_the_sample(engine, tone, tmp_path):
    tone("a.wav", seconds=33.333, rate=44_100)
    (transcript,) = run(tmp_path, chunk_seconds=5)
    bounds = [(s.start_s, s.end_s) for s in transcript.segments]
    assert bounds[0][0] == 0
    assert all(left[1] == right[0] for left, right in pairwise(bounds))
    assert bounds[-1][1] == transcript.duration_s
    assert transcript.speech_s + transcript.skipped_s == transcript.duration_s


def test_a_refused_segment_costs_its_recording_only(engine, tone, tmp_path):
    tone("good.wav")
    tone("refused.wav")
    engine.refused = {"refused.wav"}
    out = tmp_path / "results.jsonl"
    items = list(run(tmp_path, out))
    assert {type(item) for item in items} == {Transcript, Failure}
    (failure,) = read_jsonl(tmp_path / "results.failures.jsonl")
    assert (failure["path"], failure["stage"], failure["error"]) == (
        "refused.wav",
        "engine",
        "SegmentError",
    )


@pytest.mark.slow
def test_attempts_are_counted_over_runs(engine, tone, tmp_path):
    tone("good.wav")
    (tmp_path / "bad.wav").write_bytes(b"no audio")
    out = tmp_path / "results.jsonl"
    for attempt in (1, 2):
        list(run(tmp_path, out))
        (failure,) = read_jsonl(tmp_path / "results.failures.jsonl")
        assert failure["attempts"] == attempt


@pytest.mark.slow
def test_copies_get_a_line_each_and_a_renamed_file_is_not_done_again(engine, tone, tmp_path):
    audio = tmp_path / "in"
    first = tone("a.wav", folder=audio)
    (audio / "copy.wav").write_bytes(first.read_bytes())
    out = tmp_path / "results.jsonl"
    assert {t.path for t in run(audio, out)} == {"a.wav", "copy.wav"}
    assert engine.submitted == 1
    first.rename(audio / "renamed.wav")
    again = run(audio, out)
    assert list(again) == []
    assert again.stats.skipped == 2


@pytest.mark.slow
def test_a_touched_file_is_known_by_its_content(engine, tone, tmp_path):
    import os

    path = tone("a.wav", folder=tmp_path / "in")
    out = tmp_path / "results.jsonl"
    list(run(tmp_path / "in", out))
    os.utime(path, (1, 1))
    assert list(run(tmp_path / "in", out)) == []


@pytest.mark.slow
def test_a_changed_file_and_changed_options_are_done_anew(engine, tone, tmp_path):
    path = tone("a.wav", folder=tmp_path / "in")
    out = tmp_path / "results.jsonl"
    list(run(tmp_path / "in", out))
    soundfile.write(path, np.zeros(8000), SAMPLE_RATE)
    assert len(list(run(tmp_path / "in", out))) == 1
    assert len(list(run(tmp_path / "in", out, language="de"))) == 1
    assert list(run(tmp_path / "in", out, language="de")) == []
    (row,) = read_jsonl(out)
    assert row["duration_s"] == 0.5


def test_a_file_that_vanishes_after_the_scan_is_a_failure(engine, tone, tmp_path):
    tone("good.wav")
    vanishing = tone("vanishing.wav")
    planned = run(tmp_path)
    vanishing.unlink()
    failures = [item for item in planned if isinstance(item, Failure)]
    assert [f.path for f in failures] == ["vanishing.wav"]


def test_a_run_with_a_loaded_engine_ends_where_there_is_nothing_to_hear(tmp_path):
    (tmp_path / "a.wav").write_bytes(b"no audio")
    (failure,) = Run(build_config(tmp_path, {"engine": "null"}), ScriptedEngine())
    assert failure.path == "a.wav"


@pytest.mark.slow
def test_leaving_early_keeps_what_is_done(engine, tone, tmp_path):
    for i in range(10):
        tone(f"{i}.wav", folder=tmp_path / "in")
    out = tmp_path / "results.jsonl"
    items = iter(run(tmp_path / "in", out))
    next(items)
    items.close()
    assert 1 <= len(read_jsonl(out)) < 10
    assert json.loads((tmp_path / "results.summary.json").read_text())["exit_reason"] == "closed"
    assert len(list(run(tmp_path / "in", out))) == 10 - 1


def test_what_fails_once_fails_for_its_copies_too(engine, tone, tmp_path):
    first = tone("a.wav")
    (tmp_path / "b.wav").write_bytes(first.read_bytes())
    engine.refused = {"a.wav", "b.wav"}
    items = list(run(tmp_path))
    assert [(type(item), item.path) for item in items] in (
        [(Failure, "a.wav"), (Failure, "b.wav")],
        [(Failure, "b.wav"), (Failure, "a.wav")],
    )


@pytest.fixture
def shared_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ASRBATCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(
        asrbatch.pipeline.run,
        "resolve_model",
        lambda _: ModelSpec("ctranslate2", "scripted", None, "1", mel=MelParams(128)),
    )


@pytest.mark.slow
def test_what_another_run_heard_is_known_under_any_name_without_the_engine(
    shared_cache, engine, tone, tmp_path, monkeypatch
):
    path = tone("a.wav", folder=tmp_path / "in")
    (first,) = run(tmp_path / "in", tmp_path / "one.jsonl", cache=True)
    (tmp_path / "other").mkdir()
    path.rename(tmp_path / "other" / "b.wav")
    monkeypatch.setattr(asrbatch.pipeline.run, "load_engine", None)
    again = run(tmp_path / "other", tmp_path / "two.jsonl", cache=True)
    (known,) = again
    assert (known.path, known.text, known.segments) == ("b.wav", first.text, first.segments)
    assert (again.stats.done, again.stats.recalled) == (1, 1)
    assert read_jsonl(tmp_path / "two.jsonl")[0]["text"] == first.text


@pytest.mark.slow
def test_other_options_are_not_answered_from_the_cache(shared_cache, engine, tone, tmp_path):
    tone("a.wav", folder=tmp_path / "in")
    list(run(tmp_path / "in", cache=True))
    list(run(tmp_path / "in", cache=True, language="de"))
    list(run(tmp_path / "in", cache=False))
    assert engine.submitted == 3


def test_fail_fast_stops_at_the_first_failure(engine, tone, tmp_path):
    tone("good.wav")
    (tmp_path / "bad.wav").write_bytes(b"no audio")
    items = list(run(tmp_path, fail_fast=True))
    assert [type(item) for item in items] == [Failure]


def test_the_fingerprint_leaves_out_what_cannot_change_a_text(tmp_path, tone):
    tone("a.wav")
    base = Run(RunConfig((tmp_path,), engine=EngineConfig("null")))
    fast = Run(
        RunConfig((tmp_path,), engine=EngineConfig("null", max_num_seqs=8, batch_size=1), workers=5)
    )
    (source,) = base._sources
    assert base._fingerprint(source) == fast._fingerprint(source)


def test_spans_and_channels_of_one_file_are_recordings_of_their_own(engine, tmp_path):
    samples = np.random.default_rng(0).normal(0, 0.1, (4 * SAMPLE_RATE, 2))
    soundfile.write(tmp_path / "call.wav", samples, SAMPLE_RATE)
    rows = [
        {"path": "call.wav", "offset": 0, "duration": 1},
        {"path": "call.wav", "offset": 1, "duration": 1.5},
        {"path": "call.wav", "channel": 1},
    ]
    manifest = tmp_path / "calls.jsonl"
    manifest.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "results.jsonl"

    transcripts = {(t.offset_s, t.channel): t for t in run(manifest, out)}

    assert {key: t.duration_s for key, t in transcripts.items()} == {
        (0, None): 1,
        (1, None): 1.5,
        (0, 1): 4,
    }
    assert transcripts[1, None].segments[0].start_s == 1
    assert len({t.id for t in transcripts.values()}) == 3
    assert list(run(manifest, out)) == []
    assert len(read_jsonl(out)) == 3


@pytest.mark.slow
def test_files_of_the_same_name_size_and_time_in_two_folders_are_two_recordings(
    engine, tone, tmp_path
):
    import os

    out = tmp_path / "results.jsonl"
    for day in ("day1", "day2"):
        samples = np.random.default_rng(len(out.name) + int(day[-1])).normal(0, 0.1, 16_000)
        (tmp_path / day).mkdir()
        soundfile.write(tmp_path / day / "rec.wav", samples, SAMPLE_RATE)
        os.utime(tmp_path / day / "rec.wav", (1, 1))
    assert [t.path for t in run(tmp_path / "day1", out)] == ["rec.wav"]
    assert [t.path for t in run(tmp_path / "day2", out)] == ["day2/rec.wav"]
    assert list(run(tmp_path / "day1", out)) == list(run(tmp_path / "day2", out)) == []
    assert len(read_jsonl(out)) == 2


@pytest.mark.slow
def test_a_folder_that_was_moved_is_known_by_its_content(engine, tone, tmp_path):
    tone("rec.wav", folder=tmp_path / "old")
    out = tmp_path / "results.jsonl"
    list(run(tmp_path / "old", out))
    (tmp_path / "old").rename(tmp_path / "new")
    assert list(run(tmp_path / "new", out)) == []


def test_our_own_files_are_never_taken_for_recordings(engine, tone, tmp_path):
    tone("a.wav")
    (tmp_path / "bad.wav").write_bytes(b"no audio")
    out = tmp_path / "results.jsonl"
    for _ in range(2):
        list(run(tmp_path, out, ext="any"))
    (failure,) = read_jsonl(tmp_path / "results.failures.jsonl")
    assert failure["path"] == "bad.wav"


def test_an_entry_that_is_left_out_is_said(engine, tone, tmp_path, caplog):
    tone("a.wav")
    rows = [{"path": "a.wav", "session": name} for name in "AB"]
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert len(list(run(tmp_path / "m.jsonl"))) == 1
    assert "left out a second entry for a.wav, with session 'B'" in caplog.text


@pytest.mark.parametrize("seconds", [float("inf"), 1e15])
def test_an_impossible_memory_budget_is_refused(seconds, tone, tmp_path):
    from asrbatch.errors import ConfigError

    tone("a.wav")
    with pytest.raises(ConfigError, match="batch seconds"):
        run(tmp_path, batch_seconds=seconds)
