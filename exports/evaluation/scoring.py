"""A run scored on a release's split. Pure."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from retrieval.ranking.bootstrap import intervals
from retrieval.ranking.metrics import METRICS, Ranking, Way, is_counted, values
from retrieval.ranking.read_runs import Scored, by_query
from retrieval.ranking.records import read
from retrieval.ranking.runs import in_order, labelled

DECIMALS = 4
# Of every query of a split, in the file's order, its candidates' labels.
Labels = Mapping[str, Mapping[str, int]]


@dataclass
class Pairs:
    """Every judged pair of a split: its label, and its score, NaN where the run leaves it out.

    In the split's order, whatever the run's: pairs of two runs are compared by their places.
    """

    labels: bytearray
    scores: array[float]
    sizes: list[int] = field(default_factory=list)  # how many each query has, in order

    @classmethod
    def without_scores(cls, labels: Labels) -> Pairs:
        sizes = [len(judged) for judged in labels.values()]
        every = bytearray(label for judged in labels.values() for label in judged.values())
        return cls(every, array("d", [math.nan]) * len(every), sizes)


@dataclass
class RunScores:
    """A ranking for every query of the split, and where run and split differ."""

    rankings: dict[str, Ranking]
    orders: dict[str, list[str]]  # of the same queries: what is ranked, best first
    pairs: Pairs
    begins: Mapping[str, int]  # where each query's pairs begin
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
        scores = {row.candidate: row.score for row in rows}
        order = in_order([row.score for row in rows], [row.candidate for row in rows])
        self.orders[query] = [candidate for candidate, _ in order]
        self.rankings[query] = labelled(self.orders[query], labels)
        for place, candidate in enumerate(labels, self.begins[query]):
            self.pairs.scores[place] = scores.get(candidate, math.nan)


def split_labels(release: Path, split: str) -> Labels:
    return {
        query.id: {candidate.id: candidate.label for candidate in query.candidates}
        for query in read(release / f"{split}.jsonl")
    }


def score_run(run: Path, labels: Labels) -> RunScores:
    """UserError where the run cannot be read; a query that it lacks is ranked as nothing."""
    pairs = Pairs.without_scores(labels)
    scores = RunScores(
        {query: labelled([], judged) for query, judged in labels.items()},
        {query: [] for query in labels},
        pairs,
        dict(zip(labels, accumulate(pairs.sizes, initial=0), strict=False)),
    )
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


def figures(rankings: Sequence[Ranking], way: Way) -> dict[str, dict[str, float | None]]:
    """Each metric's mean over the queries that count, with its bootstrap interval."""
    used = counted(rankings, way)
    if not used:
        return {name: dict.fromkeys(("value", "low", "high")) for name in METRICS}
    per_query = values(used)
    return {
        name: {"value": rounded(value), "low": rounded(low), "high": rounded(high)}
        for name, value, low, high in zip(
            METRICS, per_query.mean(axis=0), *intervals(per_query), strict=True
        )
    }


def rounded(number: float | None) -> float | None:
    return None if number is None else round(float(number), DECIMALS)
