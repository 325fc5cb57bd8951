"""Queries with their labelled candidates, as files that `quorum campaign import` takes."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from annotation.crowd.simulated.profiles import WorkerProfiles
from benchmarks.quality.tasks import MINILM
from core.text.clean import clean_text, pair_key, question_key


@dataclass(frozen=True)
class Size:
    queries: int = 300  # of each release that the crowd judges
    corpus: int = 5_000  # pairs that their candidates come from
    accuracy: float = WorkerProfiles.accuracy  # of the crowd
    # Of a query, the candidates that a training reads, in train and in dev; test has all.
    depths: tuple[int, int] = (4, 10)
    # Questions to train on, of WikiQA and of TREC-QA, and the most sentences of each.
    sentences: tuple[int, int] = (10_000, 1_000)
    transferred: int = 600  # questions of SelQA, learned before those
    pairs: int = 3_000  # of Quora, to learn
    ranks: int = 150_000
    # Of the tasks that one encoder learns: examples of each intent, and rows of each other one.
    shots: int = 10
    learned: int = 800
    measured: int = 10_000  # rows of each test of these tasks and of Quora's pairs, at most
    retriever: str = MINILM  # chooses the candidates


class Judged(NamedTuple):
    question: str
    answer: str
    label: int
    gold: int  # what the label would be if nobody had erred


class Asked:
    """A query with its distinct candidates, the nearest first."""

    def __init__(self, query: str, candidates: Iterable[Judged]) -> None:
        distinct: dict[str, Judged] = {}
        for one in candidates:
            key = pair_key(clean_text(one.question), clean_text(one.answer))  # as an import does
            distinct.setdefault(key, one)
        self.query = query
        self.candidates = list(distinct.values())

    @property
    def is_clean(self) -> bool:
        return {one.label for one in self.candidates} == {0, 1}

    def first(self, depth: int) -> "Asked":
        return Asked(self.query, self.candidates[:depth])


Splits = dict[str, list[Asked]]


def write_splits(part: str, splits: Splits, folder: Path) -> dict[str, dict[str, int]]:
    """A file a split; what each holds."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = _each_once(splits)
    for split, asked in kept.items():
        with (folder / f"{split}.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(_lines(part, split, asked))
    return {split: _counts(asked) for split, asked in kept.items()}


def _each_once(splits: Splits) -> Splits:
    """A question that is a query of test is none of dev, and one of either none of train."""
    seen: set[str] = set()
    kept: Splits = {}
    for split in ("test", "dev", "train"):
        kept[split] = []
        for one in splits[split]:
            key = question_key(one.query)
            if key not in seen:
                seen.add(key)
                kept[split].append(one)
    return kept


def _lines(part: str, split: str, asked: Sequence[Asked]) -> Iterator[str]:
    for number, one in enumerate(asked, start=1):
        row = {
            "id": f"{part}-{split}-{number}",
            "query": one.query,
            "candidates": [
                {
                    "question": candidate.question,
                    "answer": candidate.answer,
                    "label": candidate.label,
                }
                for candidate in one.candidates
            ],
        }
        yield json.dumps(row, ensure_ascii=False) + "\n"


def _counts(asked: Sequence[Asked]) -> dict[str, int]:
    candidates = [candidate for one in asked for candidate in one.candidates]
    return {
        "queries": len(asked),
        "candidates": len(candidates),
        "positives": sum(one.label for one in candidates),
        "crowd_errors": sum(one.label != one.gold for one in candidates),
    }
