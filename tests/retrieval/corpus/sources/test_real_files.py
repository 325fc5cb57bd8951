"""Real texts, put back into the shape that their publishers gave them."""

import csv
import gzip
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.text.clean import clean_text
from retrieval.corpus.ingest import ingest
from retrieval.models import QaPair
from tests.retrieval.corpus.sources.shapes import jsonl, write

DATA = Path(__file__).parents[5] / "shared" / "data"
WIKIQA = DATA / "ranking" / "wikiqa" / "wikiqa_dev_test.tsv.gz"
QUORA = DATA / "pairs" / "qqp" / "qqp_first10k_with_qids.tsv.gz"
PAIRS = DATA / "qa_db" / "qa_pairs.jsonl.gz"

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not PAIRS.exists(), reason="needs the real files of ../shared/data"),
]


def table(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t")


def texts() -> set[tuple[str, str]]:
    return set(QaPair.objects.values_list("question", "answer"))


def test_wikiqa_without_quoting_gives_the_sentences_labelled_right(tmp_path: Path) -> None:
    rows = list(table(WIKIQA))
    header = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel"
    names = ("qid", "question", "sent_id", "doc_title", "sent_id", "sentence", "label")
    lines = [header, *("\t".join(row[name] for name in names) for row in rows)]
    path = write(tmp_path, "WikiQA.tsv", "\r\n".join(lines).encode())
    result = ingest(path, "wikiqa", format="wikiqa")
    right = [row for row in rows if row["label"] == "1"]
    assert texts() == {(clean_text(row["question"]), clean_text(row["sentence"])) for row in right}
    assert (result.read, result.rejected) == (len(rows), 0)
    assert sum(result.skipped.values()) == len(rows) - len(right)


def test_the_first_rows_of_quora_s_release_with_answers_joined(tmp_path: Path) -> None:
    """The shared file is the official one, so each question comes under its own id once."""
    rows = list(itertools.islice(table(QUORA), 2000))
    path = tmp_path / "quora.tsv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], "answer1", "answer2"], delimiter="\t")
        writer.writeheader()
        for row in rows:
            joined = {f"answer{side}": f"Answer to {row[f'qid{side}']}" for side in "12"}
            writer.writerow(row | joined)
    result = ingest(path, "quoraqp", format="quoraqp")
    expected = {
        (row[f"qid{side}"], clean_text(row[f"question{side}"])) for row in rows for side in "12"
    }
    assert set(QaPair.objects.values_list("source_id", "question")) == expected
    assert (result.read, result.added, result.rejected) == (4000, len(expected), 0)


def test_natural_questions_as_they_were_published_open(tmp_path: Path) -> None:
    with gzip.open(PAIRS, "rt", encoding="utf-8") as file:
        dev = (json.loads(line) for line in file if '"efficientqa-dev"' in line)
        rows = [(one["question"], one["extra"]["aliases"]) for one in itertools.islice(dev, 500)]
    records = [{"question": question, "answer": answers} for question, answers in rows]
    path = write(tmp_path, "NQ-open.efficientqa.dev.1.1.jsonl", jsonl(*records))
    result = ingest(path, "nq", format="nq-open")
    assert texts() == {
        (clean_text(question), clean_text(one)) for question, answers in rows for one in answers
    }
    assert result.rejected == 0
