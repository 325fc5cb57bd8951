"""Runs, written: what a system scored, as TREC lines. read_runs reads them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from core.errors import UserError
from retrieval.ranking.metrics import Ranking

# A query's id, and of each of its candidates id and score.
ScoredQuery = tuple[str, Sequence[tuple[str, float]]]
EXACT = ".9g"  # tells any two 32-bit floats apart


def run_line(
    query: str, candidate: str, *, rank: int, score: float, system: str, digits: str = ".6f"
) -> str:
    return f"{query} Q0 {candidate} {rank} {score:{digits}} {system}\n"


def in_order(scores: Sequence[float], candidates: Sequence[str]) -> list[tuple[str, float]]:
    """The candidates with their scores, best first, as trec_eval ranks them."""
    compared = np.array(scores, dtype=np.float32).tolist()
    order = sorted(zip(compared, candidates, scores, strict=True), reverse=True)
    return [(candidate, score) for _, candidate, score in order]


def ranked(scores: Iterable[tuple[str, float]], labels: Mapping[str, int]) -> Ranking:
    """One query's, by the labels of its candidates; one that nobody judged counts as wrong."""
    rows = list(scores)
    order = in_order([score for _, score in rows], [candidate for candidate, _ in rows])
    return labelled([candidate for candidate, _ in order], labels)


def labelled(order: Iterable[str], labels: Mapping[str, int]) -> Ranking:
    """`order`: candidates, best first."""
    grades = bytes(labels.get(candidate, 0) for candidate in order)
    return Ranking(grades, positives=sum(labels.values()), judged=len(labels))


def require_new(path: Path) -> None:
    """Before hours of scoring."""
    if path.exists():
        raise UserError(f"{path} exists: name a new file, nothing is overwritten.")
    if not path.parent.is_dir():
        raise UserError(f"There is no folder {path.parent}: make it, or name another file.")


def write_run(path: Path, scored: Iterable[ScoredQuery], *, system: str) -> int:
    """Whole or not at all, in place of one that is there; the number of queries."""
    tag = "-".join(system.split()) or "model"
    unfinished = path.with_name(f"{path.name}.unfinished")
    queries = 0
    try:
        with unfinished.open("w", encoding="utf-8", newline="") as file:
            for query, scores in scored:
                file.writelines(_lines(query, scores, tag))
                queries += 1
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    return queries


def _lines(query: str, scores: Sequence[tuple[str, float]], system: str) -> list[str]:
    best_first = in_order([score for _, score in scores], [candidate for candidate, _ in scores])
    return [
        run_line(query, candidate, rank=rank, score=score, system=system, digits=EXACT)
        for rank, (candidate, score) in enumerate(best_first, 1)
    ]
