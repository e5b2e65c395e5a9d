"""What a model is told to expect."""

import orjson
import pytest

from asrbatch.context import join_context, split_hotwords
from asrbatch.errors import ConfigError
from asrbatch.options import build_config
from asrbatch.scan.manifest import read_manifest


def test_hotwords_are_parted_by_commas_and_lines():
    assert split_hotwords("ComfyUI, Mrs. Dashwood,,\nBarton Park ") == [
        "ComfyUI", "Mrs. Dashwood", "Barton Park",
    ]  # fmt: skip


def test_a_context_is_a_text_and_each_word_once():
    assert join_context(" Jane Austen. ", ["Barton", "Elinor", "Barton"]) == (
        "Jane Austen.\nBarton, Elinor"
    )
    assert join_context(None, ["Barton"]) == "Barton"
    assert join_context(" ", []) is None


def test_options_make_one_context_of_text_file_and_words(tone, tmp_path):
    tone("a.wav")
    file = tmp_path / "about.md"
    file.write_text("\ufeffA novel.\n", encoding="utf-8")
    given = {"context": "Jane Austen.", "context_file": file, "hotwords": "Barton, Elinor"}
    assert build_config(tmp_path, given).context == "Jane Austen.\nA novel.\nBarton, Elinor"
    assert build_config(tmp_path, {"hotwords": ["Barton"]}).context == "Barton"
    assert build_config(tmp_path, {}).context is None


@pytest.mark.parametrize("data", [None, b"\xff\xfe", b"x" * 1_100_000])
def test_a_context_file_that_cannot_be_says_so(data, tone, tmp_path):
    tone("a.wav")
    path = tmp_path / "context"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(ConfigError, match=r"context file: .*context"):
        build_config(tmp_path, {"context_file": path})


@pytest.mark.parametrize("hotwords", [["ComfyUI", " Barton "], "ComfyUI, Barton"])
def test_a_manifest_has_words_for_a_recording(hotwords, tmp_path):
    path = tmp_path / "list.jsonl"
    path.write_bytes(orjson.dumps({"path": "a.wav", "context": "Say", "hotwords": hotwords}))
    assert [source.context for source in read_manifest(path)] == ["Say\nComfyUI, Barton"]


@pytest.mark.parametrize("hotwords", [3, [1], {"a": 1}])
def test_words_that_are_none_are_named(hotwords, tmp_path):
    path = tmp_path / "list.jsonl"
    path.write_bytes(orjson.dumps({"path": "a.wav", "hotwords": hotwords}))
    with pytest.raises(ConfigError, match="line 1: hotwords is"):
        read_manifest(path)
