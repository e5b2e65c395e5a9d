"""Answers by content and options, in a file that may be shared, broken, locked or old."""

import sqlite3
import subprocess
import sys
import textwrap
import threading

import pytest

from asrbatch.result_cache import SCHEMA_VERSION, ResultCache


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache" / "results.sqlite"


@pytest.fixture
def cache(path):
    cache = ResultCache(path)
    yield cache
    cache.close()


def test_an_answer_is_found_by_content_and_options(cache):
    cache.put("c1", "o1", b"hello")
    assert cache.get("c1", "o1") == b"hello"
    assert cache.get("c1", "o2") is None
    assert cache.get("c2", "o1") is None


def test_an_answer_is_there_for_the_next_run(cache, path):
    cache.put("c1", "o1", b"hello")
    cache.close()
    other = ResultCache(path)
    assert other.get("c1", "o1") == b"hello"
    other.close()


def test_two_runs_share_it_while_both_write(path):
    code = """
        import sys
        from pathlib import Path
        from asrbatch.result_cache import ResultCache
        cache = ResultCache(Path(sys.argv[1]))
        for i in range(300):
            cache.put(f"{sys.argv[2]}{i}", "o", b"x" * 100)
        cache.close()
    """
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code), str(path)]
    runs = [subprocess.Popen([*command, name], stderr=subprocess.PIPE, text=True) for name in "ab"]
    assert [run.communicate()[1] for run in runs] == ["", ""]
    cache = ResultCache(path)
    assert cache.info().entries == 600
    cache.close()


def test_threads_share_it(cache):
    def work(name):
        for i in range(100):
            cache.put(f"{name}{i}", "o", name.encode())
            assert cache.get(f"{name}{i}", "o") == name.encode()

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache.info().entries == 400


def test_an_answer_that_was_tampered_with_is_dropped(cache, path):
    cache.put("c1", "o1", b"hello")
    other = sqlite3.connect(path)
    with other:
        other.execute("UPDATE results SET value = X'00'")
    other.close()
    assert cache.get("c1", "o1") is None
    assert cache.info().entries == 0


def test_a_file_that_is_no_database_is_put_aside(path, caplog):
    path.parent.mkdir()
    path.write_bytes(b"not a database, but long enough to be taken for one " * 100)
    cache = ResultCache(path)
    cache.put("c1", "o1", b"hello")
    assert cache.get("c1", "o1") == b"hello"
    cache.close()
    assert path.with_name("results.sqlite.broken").exists()
    assert [r.levelname for r in caplog.records] == ["WARNING"]


def with_version(path, version):
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("CREATE TABLE results (something TEXT)")
        connection.execute(f"PRAGMA user_version = {version}")
    connection.close()


def test_an_older_schema_is_replaced(path):
    with_version(path, 0)
    cache = ResultCache(path)
    cache.put("c1", "o1", b"hello")
    assert cache.get("c1", "o1") == b"hello"
    cache.close()


def test_a_newer_schema_is_left_alone(path, caplog):
    with_version(path, SCHEMA_VERSION + 1)
    cache = ResultCache(path)
    cache.put("c1", "o1", b"hello")
    assert cache.get("c1", "o1") is None
    cache.close()
    assert "newer asrbatch" in caplog.text
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION + 1,)
    connection.close()


def test_a_locked_file_turns_it_off_with_one_warning(cache, path, caplog, monkeypatch):
    cache.close()
    monkeypatch.setattr("asrbatch.result_cache.BUSY_TIMEOUT_S", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    locked = ResultCache(path)
    locked.put("c1", "o1", b"hello")
    locked.put("c2", "o1", b"hello")
    assert locked.get("c1", "o1") is None
    other.close()
    locked.close()
    assert [r.levelname for r in caplog.records] == ["WARNING"]


def test_a_folder_that_cannot_be_made_turns_it_off_with_one_warning(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    cache = ResultCache(tmp_path / "file" / "results.sqlite")
    cache.put("c1", "o1", b"hello")
    assert cache.get("c1", "o1") is None
    assert [r.levelname for r in caplog.records] == ["WARNING"]


def test_no_more_answers_are_kept_than_wanted(path):
    cache = ResultCache(path, max_rows=10)
    for i in range(25):
        cache.put(f"c{i}", "o", b"x")
    cache.close()
    cache = ResultCache(path)
    assert cache.info().entries == 10
    cache.close()


def test_a_private_cache_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cache = ResultCache(None)
    cache.put("c1", "o1", b"hello")
    assert cache.get("c1", "o1") == b"hello"
    cache.close()
    assert list(tmp_path.iterdir()) == []
