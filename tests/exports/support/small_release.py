"""A release small enough to count by hand: three candidates a query, two queries of dev."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from exports.evaluation.baselines import write_runs
from exports.layout.files import PLACEMENTS, SPLIT_FILES
from retrieval.ranking.records import CandidateRecord, QueryRecord, line

# Of each query, its candidates' labels; c has no positive, d no negative.
TEST = {
    "a": {"a1": 1, "a2": 0, "a3": 0},
    "b": {"b1": 0, "b2": 1, "b3": 1},
    "c": {"c1": 0, "c2": 0, "c3": 0},
    "d": {"d1": 1, "d2": 1, "d3": 1},
}
DEV = {"e": {"e1": 1, "e2": 0, "e3": 0}, "f": {"f1": 0, "f2": 1, "f3": 0}}
Labels = Mapping[str, Mapping[str, int]]


def small_release(folder: Path, *, dev: Labels = DEV, test: Labels = TEST) -> Path:
    folder.mkdir()
    for name in SPLIT_FILES:
        labels = {"dev.jsonl": dev, "test.jsonl": test}.get(name, {})
        (folder / name).write_bytes(b"".join(line(_record(*query)) for query in labels.items()))
    queries = [*((query, "dev") for query in dev), *((query, "test") for query in test)]
    rows = [json.dumps({"id": query, "split": split}) + "\n" for query, split in queries]
    (folder / PLACEMENTS).write_text("".join(rows))
    write_runs(folder)
    return folder


def _record(query: str, labels: Mapping[str, int]) -> QueryRecord:
    candidates = [
        CandidateRecord(
            name, f"question {name}", f"answer {name}", rank, 1 - rank / 10, label, 2 * label, 2
        )
        for rank, (name, label) in enumerate(labels.items(), 1)
    ]
    return QueryRecord(query, f"question {query}1 ?", candidates)


def written(path: Path, *rankings: str, scores: tuple[float, ...] = (0.9, 0.4, 0.1)) -> Path:
    """Each ranking names a query's candidates, best first: `a1 a3 a2`."""
    lines = [
        f"{names[0]} Q0 {name} {rank} {score} mine\n"
        for names in rankings
        for rank, (name, score) in enumerate(zip(names.split(), scores, strict=False), 1)
    ]
    path.write_text("".join(lines))
    return path
