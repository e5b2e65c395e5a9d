"""Errors counted, and references found."""

import orjson
import pytest

from asrbatch.errors import ConfigError
from asrbatch.score import score_results
from asrbatch.score.counts import Counts, Stretch, align, confidence_interval, total
from asrbatch.score.html import score_page
from asrbatch.score.match import match
from asrbatch.score.normalise import to_words
from asrbatch.score.references import Reference, read_references
from asrbatch.score.show import colour
from tests.conftest import SPEECH, asrbatch


@pytest.fixture
def results(tmp_path):
    def write(texts, language="en"):
        path = tmp_path / "results.jsonl"
        rows = [
            {"schema": 1, "id": f"x{name[name.index('#'):] if '#' in name else ''}",
             "path": name.partition("#")[0], "text": text, "language": language,
             "channel": None, "offset_s": 0.0, "duration_s": 1.0, "segments": []}
            for name, text in texts.items()
        ]  # fmt: skip
        path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
        return path

    return write


@pytest.fixture
def table(tmp_path):
    def write(text):
        path = tmp_path / "refs.tsv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_words_are_aligned_with_the_fewest_errors():
    counts, alignment = align(["the", "cat", "sat", "down"], ["the", "fat", "cat", "sat"])
    assert counts == Counts(hits=3, insertions=1, deletions=1)
    assert alignment == (
        Stretch("equal", "the", "the"),
        Stretch("insert", "", "fat"),
        Stretch("equal", "cat sat", "cat sat"),
        Stretch("delete", "down", ""),
    )
    assert colour(alignment).plain == "the {+fat+} cat sat [-down-]"


def test_nothing_said_or_nothing_heard_counts_too():
    assert align([], []) == (Counts(), ())
    assert align([], ["thank", "you"])[0] == Counts(insertions=2)
    assert align(["thank", "you"], [])[0] == Counts(deletions=2)
    assert Counts(insertions=2).rate is None


def test_a_corpus_is_sum_over_sum():
    counts = [Counts(hits=1, deletions=1), Counts(hits=97, substitutions=1)]
    assert total(counts).rate == pytest.approx(0.02)


def test_the_interval_holds_the_rate_and_narrows_with_more_files():
    few = [Counts(hits=9, deletions=1), Counts(hits=10), Counts(hits=8, insertions=3)] * 3
    low, high = confidence_interval(few)
    assert low < total(few).rate < high
    narrow = confidence_interval(few * 20)
    assert narrow[1] - narrow[0] < (high - low) / 3
    assert confidence_interval(few) == (low, high)
    assert confidence_interval([Counts(insertions=1)]) is None


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        ("Mr. Dashwood's colour, twenty-two!", "en", "mister dashwood is color 22"),
        ("Déjà-vu, twenty two", "fr", "déjà vu twenty two"),
        ("今天 bus来了。", "zh", "今 天 bus 来 了"),
    ],
)
def test_what_is_spelled_otherwise_is_made_alike(text, language, words):
    assert to_words(text, language, "auto") == words.split()
    assert to_words("A-b, C", "en", "none") == ["A-b,", "C"]


def test_a_table_names_files_channels_and_languages(table):
    path = table(
        'file\tchannel\tlanguage\ttext\na.wav\t-\ten\tone\na.wav\t1\tGerman\tzwei "drei\nb.wav\t-\t-\t\n'
    )
    assert read_references(path) == [
        Reference("a.wav", "", "one", "en"),
        Reference("a.wav", "#c1", 'zwei "drei', "de"),
        Reference("b.wav", "", "", None),
    ]


def test_a_manifest_and_a_folder_hold_references(tmp_path):
    manifest = tmp_path / "refs.jsonl"
    manifest.write_text(
        '{"audio_filepath": "d/a.wav", "offset": 1, "duration": 2, "text": "one"}\n'
    )
    assert read_references(manifest) == [Reference("d/a.wav", "#@16000+32000", "one", None)]
    (tmp_path / "refs" / "d").mkdir(parents=True)
    (tmp_path / "refs" / "d" / "a.b.txt").write_text("one\n")
    assert read_references(tmp_path / "refs") == [Reference("d/a.b", "", "one", None, False)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "names no file and text"),
        ("file\ttext\n", "holds no reference"),
        ("file\ttext\na.wav\n", "line 2: file or text is missing"),
        ("file\ttext\na.wav\tx\na.wav\ty\n", "two references for a.wav"),
        ("file\tchannel\ttext\na.wav\tleft\tx\n", "channel is 'left'"),
        ("file\tlanguage\ttext\na.wav\tklingon\tx\n", "'klingon' is not known"),
    ],
)
def test_references_that_cannot_be_say_where(table, text, says):
    with pytest.raises(ConfigError, match=says):
        read_references(table(text))


def row(path, part=""):
    return {"id": f"x{part}", "path": path, "text": "", "language": None}


def test_paths_may_begin_in_different_folders():
    rows = [row("day/a.wav"), row("day/b.c.mp3"), row("night/a.wav"), row("c.wav", "#c1")]
    found = match(
        [
            Reference("corpus/day/a.wav", "", "", None),
            Reference("b.c", "", "", None, has_ending=False),
            Reference("c.wav", "#c1", "", None),
            Reference("c.wav", "", "", None),
        ],
        rows,
    )
    assert [result for _, result in found] == [rows[0], rows[1], rows[3], None]


def test_what_could_be_two_things_is_refused():
    with pytest.raises(ConfigError, match=r"could be of day/a.wav and of night/a.wav"):
        match([Reference("a.wav", "", "", None)], [row("day/a.wav"), row("night/a.wav")])
    twice = [Reference("x/a.wav", "", "", None), Reference("y/a.wav", "", "", None)]
    with pytest.raises(ConfigError, match=r"x/a.wav and y/a.wav could both be of a.wav"):
        match(twice, [row("a.wav")])


def test_files_without_a_result_are_counted_as_told(results, table):
    out, ref = (
        results({"a.wav": "off down", "x.wav": "?"}),
        table("file\ttext\na.wav\toff down\nb.wav\tleft right\n"),
    )
    with pytest.raises(ConfigError, match=r"lacks 1 of 2 references: b.wav; .*--missing empty"):
        score_results(out, ref)
    skipped = score_results(out, ref, missing="skip")
    assert (skipped.words.rate, skipped.missing, skipped.unreferenced) == (0.0, ("b.wav",), 1)
    empty = score_results(out, ref, missing="empty")
    assert (empty.words.rate, empty.words.deletions) == (0.5, 2)


def test_chinese_is_counted_by_character(results, table):
    out = results({"a.wav": "今天天气很好"}, language="zh")
    score = score_results(out, table("file\ttext\na.wav\t今天天气真好\n"))
    assert score.words.rate == score.characters.rate == pytest.approx(1 / 6)


def test_the_worst_files_come_first_and_right_ones_not_at_all(results, table):
    out = results({"a.wav": "off", "b.wav": "x y", "c.wav": "right"})
    ref = table("file\ttext\na.wav\toff down\nb.wav\toff down\nc.wav\tright\n")
    assert [file.name for file in score_results(out, ref).worst(5)] == ["b.wav", "a.wav"]


def test_a_page_escapes_what_was_said(results, table):
    out = results({"<b>.wav": "x"})
    ref = table("file\ttext\n<b>.wav\t<script>alert(1)</script>\n")
    page = score_page(score_results(out, ref, normaliser="none"))
    assert "<script>" not in page
    assert "<b>" not in page
    assert "<del>&lt;script&gt;alert(1)&lt;/script&gt;</del> <ins>x</ins>" in page


def test_the_command_prints_a_table_json_and_a_page(results, table, tmp_path):
    out, ref = results({"a.wav": "off up"}), table("file\ttext\na.wav\toff down\n")
    shown = asrbatch("score", out, "--ref", ref, "--html", tmp_path / "score.html")
    assert shown.returncode == 0, shown.stderr
    assert "50.00 %" in shown.stdout
    assert "off [-down-]{+up+}" in shown.stdout
    assert "<del>down</del> <ins>up</ins>" in (tmp_path / "score.html").read_text()
    found = orjson.loads(asrbatch("score", out, "--ref", ref, "--json").stdout)
    assert (found["wer"], found["files"][0]["words"]["substitutions"]) == (0.5, 1)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.jsonl", "--ref", SPEECH / "refs.tsv"], "there is no file nowhere.jsonl"),
        ([SPEECH / "refs.tsv", "--ref", SPEECH / "refs.tsv"], "is not JSON"),
        (["x", "--ref", "y", "--missing", "maybe"], "missing: 'maybe'"),
        (["x", "--ref", "y", "--normalizer", "latin"], "normalizer: 'latin'"),
    ],
)
def test_wrong_usage_exits_2_with_one_line(arguments, says):
    done = asrbatch("score", *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
