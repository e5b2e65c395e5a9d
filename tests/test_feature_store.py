"""Features that were computed before: exact, checked, bounded, and never in the way of a run."""

import logging
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import asrbatch.pipeline.run
import asrbatch.pipeline.workers
from asrbatch.data import FeatureSet, FeatureSpan, MelParams, RawFormat, SpeechParams, Transcript
from asrbatch.engines.null_engine import NullEngine
from asrbatch.feature_file import FeatureWriter, read_features, writing
from asrbatch.feature_store import FeatureStore, feature_key, open_store
from asrbatch.options import build_config
from asrbatch.pipeline import Run


def span(start, num_frames, value=1.0):
    audio = np.full((128, num_frames), value, np.float32)
    return FeatureSpan(start, num_frames * 160, "pause", audio)


def write(path, spans, flags=(), max_bytes=1 << 30):
    with writing(path, max_bytes) as file:
        for each in spans:
            file.add(each)
        return file.commit(flags, sum(each.num_samples for each in spans))


@given(st.lists(st.integers(1, 40), max_size=5))
def test_what_was_written_is_read_in_place(tmp_path_factory, lengths):
    path = tmp_path_factory.mktemp("features") / "ab" / "x.features"
    random = np.random.default_rng(0)
    spans = [
        FeatureSpan(i, n, "quiet", random.random((128, n), np.float32))
        for i, n in enumerate(lengths)
    ]
    num_bytes = write(path, spans, ("truncated",))
    found = read_features(path)
    assert path.stat().st_size == num_bytes
    assert found.flags == ("truncated",)
    assert found.num_samples == sum(lengths)
    assert [(s.start_sample, s.num_samples, s.cut) for s in found.spans] == [
        (s.start_sample, s.num_samples, s.cut) for s in spans
    ]
    for ours, theirs in zip(found.spans, spans, strict=True):
        assert np.array_equal(ours.audio, theirs.audio)
        assert not ours.audio.flags.owndata
        assert ours.audio.__array_interface__["data"][0] % 64 == 0


@given(st.integers(0, 20_000), st.integers(1, 255))
def test_a_file_with_a_wrong_byte_is_dropped(tmp_path_factory, position, change):
    path = tmp_path_factory.mktemp("features") / "x.features"
    write(path, [span(0, 20), span(3200, 10)])
    data = bytearray(path.read_bytes())
    data[position % len(data)] ^= change
    path.write_bytes(data)
    assert read_features(path) is None
    assert not path.exists()


@pytest.mark.parametrize("num_bytes", [0, 10, 5000, -1])
def test_a_file_that_is_cut_is_dropped(tmp_path, num_bytes):
    path = tmp_path / "x.features"
    write(path, [span(0, 20)])
    path.write_bytes(path.read_bytes()[:num_bytes])
    assert read_features(path) is None
    assert not path.exists()


def test_what_is_not_committed_leaves_nothing(tmp_path):
    with writing(tmp_path / "x.features", 1 << 30) as file:
        file.add(span(0, 20))
    assert list(tmp_path.iterdir()) == []


def test_what_is_larger_than_the_bound_is_given_up_without_a_complaint(tmp_path):
    writer = FeatureWriter(tmp_path / "x.features", 20_000)
    writer.add(span(0, 30))
    writer.add(span(0, 30))
    assert (writer.commit((), 9600), writer.error) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_the_file_that_was_not_used_for_longest_goes_first(tmp_path):
    store = FeatureStore(tmp_path, 38_000, 0)
    paths = [store.path(f"{i:032x}") for i in range(3)]
    for age, path in enumerate(paths):
        num_bytes = write(path, [span(0, 25)])
        os.utime(path, (1000 + age, 1000 + age))
    read_features(paths[0])
    for _ in paths:
        store.note_written(num_bytes)
    assert [path.exists() for path in paths] == [True, False, True]
    assert store.info().num_bytes <= 38_000


def test_memory_is_bounded_whatever_threads_do(tmp_path):
    store = FeatureStore(tmp_path, 0, 100_000)

    def work(seed):
        random = np.random.default_rng(seed)
        for _ in range(300):
            key = str(random.integers(20))
            found = store.recall(key)
            if found is not None:
                assert found.flags == (key,)
            store.keep(key, FeatureSet((span(0, int(random.integers(1, 60))),), (key,), 9600))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    kept = [store.recall(str(i)) for i in range(20)]
    assert 0 < sum(found.num_bytes for found in kept if found) <= 100_000


def test_a_key_is_of_all_that_features_depend_on():
    raw = RawFormat("s16le", 8000, 1)
    keys = {
        feature_key("a", MelParams(128), 480_000, None, None),
        feature_key("b", MelParams(128), 480_000, None, None),
        feature_key("a", MelParams(80), 480_000, None, None),
        feature_key("a", None, 480_000, None, None),
        feature_key("a", MelParams(128), 160_000, None, None),
        feature_key("a", MelParams(128), 480_000, raw, None),
        feature_key("a", MelParams(128), 480_000, None, SpeechParams()),
        feature_key("a", MelParams(128), 480_000, None, SpeechParams(0.6)),
    }
    assert len(keys) == 8


class Listener(NullEngine):
    """Keeps what it was given."""

    def __init__(self, spec, config):
        super().__init__(spec, config)
        self.heard = {}

    def submit(self, segment, audio):
        self.heard[segment.recording_id, segment.start_sample, segment.num_samples] = audio.copy()
        super().submit(segment, audio)


@pytest.fixture
def listen(monkeypatch):
    """Run over a folder; what the engine heard, the transcripts and the summary."""

    def run(inputs, **options):
        engines = []

        def load(spec, config):
            engines.append(Listener(spec, config))
            return engines[0]

        monkeypatch.setattr(asrbatch.pipeline.run, "load_engine", load)
        run = Run(
            build_config(inputs, {"engine": "null", "chunk_seconds": 2, "vad": False, **options})
        )
        transcripts = [item for item in run if isinstance(item, Transcript)]
        return engines[0].heard, transcripts, run.stats.summary()

    open_store.cache_clear()
    yield run
    open_store.cache_clear()


def assert_same(ours, theirs):
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[key], theirs[key]) for key in ours)


@pytest.fixture
def manifest(tone, tmp_path):
    """A whole file, and a part of one that begins in its middle."""
    tone("a.wav", seconds=5)
    tone("b.wav", seconds=7)
    path = tmp_path / "list.jsonl"
    path.write_text('{"audio": "a.wav"}\n{"audio": "b.wav", "offset": 1.5, "duration": 4}\n')
    return path


@pytest.mark.slow
def test_features_come_from_memory_then_from_disk_and_are_the_same(manifest, listen, tmp_path):
    plain, _, _ = listen(manifest)
    first, _, summary = listen(manifest, feature_cache=tmp_path / "cache")
    assert summary["features"] == {}
    again, _, summary = listen(manifest, feature_cache=tmp_path / "cache")
    assert summary["features"] == {"memory": 2}
    open_store.cache_clear()  # as in another process
    later, transcripts, summary = listen(manifest, feature_cache=tmp_path / "cache")
    assert summary["features"] == {"disk": 2}
    for heard in (first, again, later):
        assert_same(heard, plain)
    assert sorted(t.duration_s for t in transcripts) == [4, 5]


@pytest.mark.slow
def test_without_memory_all_comes_from_disk(manifest, listen, tmp_path):
    options = {"feature_cache": tmp_path / "cache", "feature_memory_gb": 0}
    listen(manifest, **options)
    _, _, summary = listen(manifest, **options)
    assert summary["features"] == {"disk": 2}


@pytest.mark.slow
def test_a_corrupt_entry_is_computed_again(manifest, listen, tmp_path):
    options = {"feature_cache": tmp_path / "cache", "feature_memory_gb": 0}
    plain, _, _ = listen(manifest, **options)
    for path in (tmp_path / "cache").rglob("*.features"):
        data = bytearray(path.read_bytes())
        data[100] ^= 1
        path.write_bytes(data)
    heard, _, summary = listen(manifest, **options)
    assert summary["features"] == {}
    assert_same(heard, plain)
    _, _, summary = listen(manifest, **options)
    assert summary["features"] == {"disk": 2}


def test_a_full_disk_turns_the_cache_off_with_one_warning(
    monkeypatch, tone, listen, tmp_path, caplog
):
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (99_999, 99_999)); "
    command = asrbatch.pipeline.workers.COMMAND
    monkeypatch.setattr(asrbatch.pipeline.workers, "COMMAND", limit + command)
    for i in range(6):
        tone(f"{i}.wav", seconds=3)
    with caplog.at_level(logging.WARNING):
        heard, transcripts, _ = listen(tmp_path, feature_cache=tmp_path / "cache")
    assert len(transcripts) == 6
    assert len(heard) == 12
    assert [r.message for r in caplog.records if "feature cache" in r.message] == [
        f"feature cache: {tmp_path / 'cache'} cannot be written (File too large); "
        "the run goes on without it"
    ]
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_a_failed_file_leaves_no_features(tone, listen, tmp_path):
    tone("a.wav", seconds=3)
    (tmp_path / "b.wav").write_bytes((tmp_path / "a.wav").read_bytes()[:44])
    _, transcripts, summary = listen(tmp_path, feature_cache=tmp_path / "cache")
    assert (len(transcripts), summary["files"]["failed"]) == (1, 1)
    assert len([path for path in (tmp_path / "cache").rglob("*") if path.is_file()]) == 1
