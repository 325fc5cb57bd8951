"""In place of materials that are not there, at the size tiny: rows of the release, whose labels
mean nothing. They show that an experiment runs, before hours are spent on making its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

from core.files.whole import write_whole
from retrieval.ranking.records import read
from retrieval.training.recipes.materials import MOST_SCORE

ROWS = 200  # so many that one in ten, by its first text, is some for dev
QUESTIONS = "questions"  # with known answers
FEW = 10  # of these: each system answers all


class _Text(NamedTuple):
    """None of them comes twice."""

    query: str
    question: str
    answer: str
    label: int


_COLUMNS: Mapping[str, Callable[[_Text], dict[str, Any]]] = {
    "pairs": lambda one: {
        "question1": one.query,
        "question2": one.question,
        "is_duplicate": one.label,
        "answer2": one.answer,
    },
    "positives": lambda one: {"anchor": one.query, "positive": one.question},
    "topics": lambda one: {"question": one.query, "topic": f"topic {one.label}"},
    "sentences": lambda one: {
        "question": one.query,
        "sentence": one.answer,
        "label": one.label,
    },
    "spans": lambda one: {"left": one.query, "right": one.answer, "label": one.label},
    "sts": lambda one: {
        "sentence1": one.query,
        "sentence2": one.question,
        "score": MOST_SCORE * one.label,
    },
    "ranks": lambda one: {
        "query": one.query,
        "pairs": [[one.question, one.answer], [one.query, one.answer]],
        "label": one.label,
    },
    QUESTIONS: lambda one: {"question": one.query, "answers": [one.answer]},
}


def tiny_material(kind: str, release: Path, folder: Path) -> Path:
    """A file in the folder; the same release gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{kind}.jsonl"
    most = FEW if kind == QUESTIONS else ROWS
    rows = (_COLUMNS[kind](text) for text in islice(_texts(release), most))
    write_whole(path, (f"{json.dumps(row)}\n".encode() for row in rows))
    return path


def _texts(release: Path) -> Iterator[_Text]:
    every = [
        (record.query, one.question or one.answer, one.answer or one.question)
        for record in islice(read(release / "train.jsonl"), ROWS)
        for one in record.candidates
    ]
    for number, (query, question, answer) in enumerate(islice(cycle(every), ROWS)):
        yield _Text(f"{query} {number}", f"{question} {number}", f"{answer} {number}", number % 2)
