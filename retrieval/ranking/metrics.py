"""Metrics of a ranking, computed by ir_measures, and their means over queries in one of two ways.

The QRC way: a query without a positive counts 0 and stays in the denominator. The "clean" way of
answer selection (AS2): queries whose candidates are all positive or all negative are dropped, as
no ranking of them is better than another. A table without its way says nothing. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import ir_measures
import numpy as np
from ir_measures.measures import Measure

from retrieval.ranking.bootstrap import ROUNDING, Values

Way = Literal["qrc", "clean"]
WAYS: Mapping[Way, str] = {
    "qrc": "QRC (a query without a positive counts 0)",
    "clean": "AS2 clean (all-positive and all-negative queries are dropped)",
}
# Hit@1 is P@1; ir_measures calls Hit@k Success@k.
METRICS: Mapping[str, Measure] = {
    "P@1": ir_measures.P @ 1,
    "MAP": ir_measures.AP,
    "MRR": ir_measures.RR,
    "Hit@5": ir_measures.Success @ 5,
    "Hit@10": ir_measures.Success @ 10,
}


@dataclass(frozen=True)
class Ranking:
    """What a system made of one query's candidates.

    `labels`: those of what it ranked, best first, 0 where nobody judged; `positives` and `judged`
    count the query's candidates in the dataset, ranked or not.
    """

    labels: Sequence[int]
    positives: int
    judged: int

    @classmethod
    def of_all(cls, labels: Sequence[int]) -> Ranking:
        """A ranking of just the judged candidates, none of them missing."""
        return cls(labels, positives=sum(labels), judged=len(labels))


def values(rankings: Sequence[Ranking]) -> Values:
    """A row for each query, a column for each metric."""
    judgments = {str(row): _judgments(ranking) for row, ranking in enumerate(rankings)}
    run = {str(row): _run(ranking) for row, ranking in enumerate(rankings)}
    columns = {measure: column for column, measure in enumerate(METRICS.values())}
    figures = np.zeros((len(rankings), len(columns)))
    for one in ir_measures.iter_calc(list(columns), judgments, run):
        figures[int(one.query_id), columns[one.measure]] = one.value
    return figures


def hits(figures: Values, deepest: int) -> Values:
    """Hit@1 to Hit@`deepest` of each query, a column for each k, out of what `values` gives.

    The first positive is at k or above it just where the reciprocal rank is 1/k or more.
    """
    reciprocal = figures[:, list(METRICS).index("MRR"), None]
    hit = reciprocal * np.arange(1, deepest + 1) >= 1 - ROUNDING
    return hit.astype(np.float64)


def is_counted(ranking: Ranking, way: Way) -> bool:
    """Whether the query is in the denominator."""
    return way == "qrc" or 0 < ranking.positives < ranking.judged


def means(rankings: Iterable[Ranking], way: Way) -> dict[str, float | None]:
    """Of every metric, over the queries that count; None where no query does."""
    counted = [ranking for ranking in rankings if is_counted(ranking, way)]
    if not counted:
        return dict.fromkeys(METRICS)
    return dict(zip(METRICS, values(counted).mean(axis=0).tolist(), strict=True))


def _judgments(ranking: Ranking) -> dict[str, int]:
    """By places; those that were not ranked matter as far as they are positive."""
    missed = ranking.positives - sum(ranking.labels)
    ranked = {str(place): int(label) for place, label in enumerate(ranking.labels)}
    return ranked | {f"missed {number}": 1 for number in range(missed)}


def _run(ranking: Ranking) -> dict[str, float]:
    return {str(place): -float(place) for place in range(len(ranking.labels))}
