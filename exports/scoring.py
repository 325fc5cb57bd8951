"""A run scored on a release's split. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from exports.bootstrap import Values, intervals
from exports.runs import Scored, by_query, ranked
from retrieval.dataset import read
from retrieval.metrics import METRICS, Ranking, Way, is_counted, means

DECIMALS = 4
# Of every query of a split, in the file's order, its candidates' labels.
Labels = Mapping[str, Mapping[str, int]]


@dataclass
class RunScores:
    """A ranking for every query of the split, and where run and split differ."""

    rankings: dict[str, Ranking]
    missing_queries: list[str] = field(default_factory=list)
    other_queries: list[str] = field(default_factory=list)  # of the run, not of the split
    matched: int = 0  # candidates of the split that the run ranks
    unranked: int = 0  # those that it lacks, the missing queries' left out
    unjudged: int = 0  # candidates that it ranks and the split lacks
    unjudged_example: str = ""

    def add(self, query: str, rows: Sequence[Scored], labels: Mapping[str, int]) -> None:
        unjudged = [row.candidate for row in rows if row.candidate not in labels]
        matched = len(rows) - len(unjudged)
        self.matched += matched
        self.unranked += len(labels) - matched
        self.unjudged += len(unjudged)
        self.unjudged_example = self.unjudged_example or next(iter(unjudged), "")
        self.rankings[query] = ranked(rows, labels)


def split_labels(release: Path, split: str) -> Labels:
    return {
        query.id: {candidate.id: candidate.label for candidate in query.candidates}
        for query in read(release / f"{split}.jsonl")
    }


def score_run(run: Path, labels: Labels) -> RunScores:
    """UserError where the run cannot be read; a query that it lacks is ranked as nothing."""
    scores = RunScores({query: ranked([], judged) for query, judged in labels.items()})
    missing = dict.fromkeys(labels)
    for query, rows in by_query(run):
        if query in labels:
            del missing[query]
            scores.add(query, rows, labels[query])
        else:
            scores.other_queries.append(query)
    scores.missing_queries = list(missing)
    return scores


def counted(rankings: Iterable[Ranking], way: Way) -> list[Ranking]:
    return [ranking for ranking in rankings if is_counted(ranking, way)]


def values(rankings: Sequence[Ranking]) -> Values:
    """A row for each query, a column for each metric."""
    return np.array([[metric(ranking) for metric in METRICS.values()] for ranking in rankings])


def figures(rankings: Sequence[Ranking], way: Way) -> dict[str, dict[str, float | None]]:
    """Each metric's mean over the queries that count, with its bootstrap interval."""
    found = means(rankings, way)
    used = counted(rankings, way)
    ends = np.transpose(intervals(values(used))) if used else [(None, None)] * len(METRICS)
    return {
        name: {"value": rounded(value), "low": rounded(low), "high": rounded(high)}
        for (name, value), (low, high) in zip(found.items(), ends, strict=True)
    }


def rounded(number: float | None) -> float | None:
    return None if number is None else round(float(number), DECIMALS)
