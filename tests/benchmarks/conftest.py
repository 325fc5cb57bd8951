"""Folders of their own for benchmarks, and instead of the real data a handful of the demo's."""

import csv
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import cycle, pairwise
from pathlib import Path
from typing import TextIO

import pytest
import torch

from benchmarks import folders
from benchmarks.control_leak.corpora import BANKING
from benchmarks.models.data import CLINC, SELQA, STSB, TREC_SPLITS, TRECQA, WIKIQA
from benchmarks.quality.tasks import DUPLICATES
from tests.retrieval.training import tiny

GOLD = Path(__file__).parents[2] / "demo" / "gold.jsonl"
Row = Mapping[str, object]


@pytest.fixture(scope="package", autouse=True)
def one_thread() -> Iterator[None]:
    """Several would wait for each other, and encode in processes that take long to start."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def own_folders(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kept result is never written over by a test."""
    for name in ("WORK", "RESULTS"):
        (tmp_path / name).mkdir()
        monkeypatch.setattr(folders, name, tmp_path / name)
    monkeypatch.setattr(folders, "DATA", data)


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny.retriever(tmp_path_factory.mktemp("encoder") / "tiny"))


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every file that benchmarks read, with the columns of the real ones."""
    folder = tmp_path_factory.mktemp("data")
    meanings: dict[str, list[str]] = {}
    for line in GOLD.read_text().splitlines():
        row = json.loads(line)
        meanings.setdefault(row["meaning"], []).append(row["question"])
    pairs = (
        {
            "question": question,
            "answer": f"It is {meaning}, {number // 4}.",
            "answer_type": "long",
            "source": ("insuranceqa", "medquad")[number % 2],
            "extra": {"focus": meaning, "qtype": "information"},
        }
        for meaning, questions in meanings.items()
        for number, question in enumerate(questions)
    )
    with _opened(folder / folders.PAIRS) as file:
        file.writelines(json.dumps(row) + "\n" for row in pairs)
    intents = [
        {"split": split, "intent": meaning, "text": question}
        for meaning, questions in meanings.items()
        for split, question in zip(cycle(("train", "test")), questions)
    ]
    _write(folder / BANKING, intents)
    _write(folder / CLINC, intents)
    groups = [questions for questions in meanings.values() if len(questions) > 5]
    graded = (
        {"split": "test", "sentence1": one[0], "sentence2": other, "score_0_5": score}
        for one, others in pairwise(groups)
        for score, other in ((5, one[1]), (0, others[0]))
    )
    _write(folder / STSB, graded)
    _write(folder / DUPLICATES[0], _judged(groups, "label", start=0))
    _write(folder / DUPLICATES[1], _judged(groups, "is_duplicate", start=2))
    _write(folder / WIKIQA[0], _sentences(groups[:30], ["train"]))
    _write(folder / WIKIQA[1], _sentences(groups[30:], ["dev", "test"]))
    _write(folder / TRECQA, _sentences(groups, list(TREC_SPLITS)))
    with _opened(folder / SELQA) as file:
        for split, (one, other) in zip(cycle(("dev", "test")), pairwise(groups)):
            texts = {"question": one[0], "candidates": [other[0], one[1]]}
            row = {"split": split, **texts, "positives": [1]}
            file.write(json.dumps(row) + "\n")
    return folder


def _judged(groups: list[list[str]], label: str, *, start: int) -> Iterator[Row]:
    """Two questions of a group are duplicates, those of two groups are none."""
    splits = cycle(("dev", "test"))
    for one, other in pairwise(groups):
        split = next(splits)
        for second, same in ((one[start + 1], 1), (one[start + 2], 1), (other[start], 0)):
            yield {"split": split, label: same, "question1": one[start], "question2": second}


def _sentences(groups: list[list[str]], names: list[str]) -> Iterator[Row]:
    splits = cycle(names)
    for one, other in pairwise(groups):
        split = next(splits)
        for sentence in (one[1], one[2], *other[1:3]):
            label = int(sentence in one)
            yield {"split": split, "question": one[0], "sentence": sentence, "label": label}


def _write(path: Path, rows: Iterable[Row]) -> None:
    found = list(rows)
    with _opened(path) as file:
        writer = csv.DictWriter(file, list(found[0]), delimiter="\t")
        writer.writeheader()
        writer.writerows(found)


def _opened(path: Path) -> TextIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return gzip.open(path, "wt", encoding="utf-8", newline="")
