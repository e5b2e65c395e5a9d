"""Results read again."""

import orjson
import pytest

from asrbatch.errors import ConfigError
from asrbatch.results import read_results

SEGMENT = {"start_s": 0, "end_s": 1.5, "text": "one", "language": None}
GOOD = {
    "schema": 1, "id": "x#c1", "path": "a.wav", "channel": 1, "offset_s": 0.0, "duration_s": 1.5,
    "language": "en", "text": "one", "segments": [SEGMENT],
}  # fmt: skip


def test_lines_come_as_they_were_written(tmp_path):
    path = tmp_path / "results.jsonl"
    word = {"word": "one", "start_s": 0.1, "end_s": 0.4}
    rows = [GOOD, GOOD | {"segments": [SEGMENT | {"words": [word]}, SEGMENT | {"words": None}]}]
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    assert list(read_results(path)) == rows


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"id": 1}, "id is 1"),
        ({"path": None}, "path is None"),
        ({"text": ...}, "text is missing"),
        ({"segments": {}}, "segments is {}"),
        ({"segments": ["one"]}, "in a segment there is 'one'"),
        ({"segments": [SEGMENT | {"start_s": "0"}]}, "in a segment start_s is '0'"),
        ({"segments": [SEGMENT | {"words": "one"}]}, "in a segment words is 'one'"),
        ({"segments": [SEGMENT | {"words": [{"word": "one"}]}]}, "in a word start_s is missing"),
    ],
)
def test_what_is_no_result_is_named_by_line_and_field(change, says, tmp_path):
    path = tmp_path / "results.jsonl"
    row = {name: value for name, value in (GOOD | change).items() if value is not ...}
    path.write_bytes(orjson.dumps(GOOD) + b"\n" + orjson.dumps(row) + b"\n")
    with pytest.raises(ConfigError, match=r"results: line 2 of .* is no result") as caught:
        list(read_results(path))
    assert says in str(caught.value)


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(ConfigError, match="there is no file"):
        list(read_results(tmp_path))
