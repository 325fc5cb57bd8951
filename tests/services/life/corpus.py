"""The files that an owner uploads, and what their questions mean.

Pairs of the demo, several questions of each meaning: some are to be imported, one more wording of
each is a query.
"""

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from annotation.crowd.simulated.knowledge import Gold, read_gold
from annotation.pipeline.controls.import_controls import SHIPPED
from demo.processes import ROOT

PAIRS, MEANINGS = ROOT / "demo" / "qa_pairs.jsonl", ROOT / "demo" / "gold.jsonl"
GOLD = [MEANINGS, SHIPPED]
TOPICS, WORDINGS = 20, 4  # of so many meanings, so many questions each are imported

Record = Mapping[str, str]


@dataclass(frozen=True)
class Corpus:
    pairs: Path  # a CSV of q/a pairs, two rows of which cannot be used
    controls: Path  # a CSV of positive controls, all of them good
    bad_controls: Path  # the same with one that is none
    queries: Path  # a text file, a question a line
    imported: int

    @property
    def gold(self) -> Gold:
        return read_gold(GOLD)


def write_corpus(folder: Path) -> Corpus:
    groups = [group for group in _by_meaning().values() if len(group) > WORDINGS][:TOPICS]
    pairs = [one for group in groups for one in group[:WORDINGS]]
    controls = _records(SHIPPED)
    return Corpus(
        pairs=_write_pairs(folder / "pairs.csv", pairs),
        controls=_write_controls(folder / "controls.csv", controls),
        bad_controls=_write_controls(
            folder / "bad_controls.csv",
            [*controls, {"query": "Is it so?", "question": "is it so", "answer": "Yes."}],
        ),
        queries=_write_lines(folder / "queries.txt", [group[WORDINGS] for group in groups]),
        imported=len(pairs),
    )


def _by_meaning() -> dict[str, list[Record]]:
    meanings = {one["question"]: one["meaning"] for one in _records(MEANINGS)}
    groups = defaultdict(list)
    for pair in _records(PAIRS):
        groups[meanings[pair["question"]]].append(pair)
    return groups


def _records(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _write_pairs(path: Path, pairs: Iterable[Record]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "question", "answer"])
        rows.writerows([one["id"], one["question"], one["answer"]] for one in pairs)
        rows.writerow(["no-answer", "Who has no answer?", ""])
        rows.writerow(["one column"])
    return path


def _write_controls(path: Path, controls: Iterable[Record]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["query", "question", "answer"])
        rows.writerows([one["query"], one["question"], one["answer"]] for one in controls)
    return path


def _write_lines(path: Path, queries: Iterable[Record]) -> Path:
    path.write_text("".join(f"{one['question']}\n" for one in queries), encoding="utf-8")
    return path
