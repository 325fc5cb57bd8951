"""Four real corpora with what is known of their questions' meanings.

`quora`: questions of Quora's; those that its users called duplicates mean the same. It has no
answers: one sentence stands in the place of all, from which no rule learns anything.
`banking`: a bank's customers; questions of one intent mean the same. No answers either.
`insurance`: questions and answers of InsuranceQA; questions that share an answer mean the same.
`medical`: MedQuAD; questions of one focus and one type mean the same.
"""

import csv
import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from scipy.cluster.hierarchy import DisjointSet

import benchmarks.ready  # noqa: F401
from benchmarks import folders
from benchmarks.quality.tasks import DUPLICATES
from core.text.clean import clean_text, question_key
from retrieval.encoders.lazy import load_encoder
from retrieval.vectors.types import Vectors

BANKING = Path("pairs") / "banking77" / "banking77.tsv.gz"
NO_ANSWER = "No answer was kept."
NAMES = ("quora", "banking", "insurance", "medical")
NEEDED = (*DUPLICATES, BANKING, folders.PAIRS)

Row = tuple[str, str, str]  # question, answer, meaning


@dataclass(frozen=True)
class Corpus:
    name: str
    rows: list[Row]
    vectors: Vectors
    complete: bool  # what has another meaning is known to ask something else

    @cached_property
    def meanings(self) -> dict[str, str]:
        return {question: meaning for question, _, meaning in self.rows}


def load(name: str, *, data: Path, most: int, model: str) -> Corpus:
    """At most so many questions, drawn at random; of Quora's whole groups, the largest first."""
    rows = sorted(_once(READERS[name](data)))
    random.Random(1).shuffle(rows)
    if name == "quora":  # most of its questions have no other of their meaning
        size = Counter(meaning for *_, meaning in rows)
        rows.sort(key=lambda row: (-size[row[-1]], row[-1]))
    rows = rows[:most]
    vectors = load_encoder(model, "cpu").encode_questions([question for question, *_ in rows])
    return Corpus(name, rows, vectors, complete=name in ("banking", "medical"))


def _once(rows: Iterator[Row]) -> list[Row]:
    return list({question_key(row[0]): row for row in rows if row[0] and row[1]}.values())


def _quora(data: Path) -> Iterator[Row]:
    """The duplicate of a duplicate is one."""
    same = DisjointSet()
    for row in (row for path in DUPLICATES for row in _table(data / path)):
        first, second = clean_text(row["question1"]), clean_text(row["question2"])
        same.add(first)
        same.add(second)
        if (row.get("label") or row.get("is_duplicate")) == "1":
            same.merge(first, second)
    return ((question, NO_ANSWER, same[question]) for question in same)


def _banking(data: Path) -> Iterator[Row]:
    for row in _table(data / BANKING):
        yield clean_text(row["text"]), NO_ANSWER, row["intent"]


def _insurance(data: Path) -> Iterator[Row]:
    """The first answer of each question."""
    for row in _pairs(data, "insuranceqa"):
        yield clean_text(row["question"]), clean_text(row["answer"]), clean_text(row["answer"])


def _medical(data: Path) -> Iterator[Row]:
    for row in _pairs(data, "medquad"):
        meaning = f"{row['extra']['focus']}, {row['extra']['qtype']}".casefold()
        yield clean_text(row["question"]), clean_text(row["answer"]), meaning


READERS = {"quora": _quora, "banking": _banking, "insurance": _insurance, "medical": _medical}


def _pairs(data: Path, source: str) -> Iterator[Mapping[str, Any]]:
    with gzip.open(data / folders.PAIRS, "rt", encoding="utf-8") as file:
        yield from (row for line in file if (row := json.loads(line))["source"] == source)


def _table(path: Path) -> Iterator[Mapping[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t")
