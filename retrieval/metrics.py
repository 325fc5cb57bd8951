"""Metrics of a ranking, one function each, and their means over queries in one of two ways.

The QRC way: a query without a positive counts 0 and stays in the denominator. The "clean" way of
answer selection (AS2): queries whose candidates are all positive or all negative are dropped, as
no ranking of them is better than another. A table without its way says nothing. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

Way = Literal["qrc", "clean"]
WAYS: Mapping[Way, str] = {
    "qrc": "QRC (a query without a positive counts 0)",
    "clean": "AS2 clean (all-positive and all-negative queries are dropped)",
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


Metric = Callable[[Ranking], float]


def precision_at_1(ranking: Ranking) -> float:
    return float(sum(ranking.labels[:1]))


def average_precision(ranking: Ranking) -> float:
    """The mean precision at the positives' places; 0 at a positive that was not ranked."""
    found, total = 0, 0.0
    for place, label in enumerate(ranking.labels, start=1):
        if label:
            found += 1
            total += found / place
    return total / ranking.positives if ranking.positives else 0.0


def reciprocal_rank(ranking: Ranking) -> float:
    places = (place for place, label in enumerate(ranking.labels, start=1) if label)
    return 1 / next(places, float("inf"))


def hit_at(ranking: Ranking, *, k: int) -> float:
    return float(any(ranking.labels[:k]))


# Hit@1 is P@1.
METRICS: Mapping[str, Metric] = {
    "P@1": precision_at_1,
    "MAP": average_precision,
    "MRR": reciprocal_rank,
    "Hit@5": partial(hit_at, k=5),
    "Hit@10": partial(hit_at, k=10),
}


def is_counted(ranking: Ranking, way: Way) -> bool:
    """Whether the query is in the denominator."""
    return way == "qrc" or 0 < ranking.positives < ranking.judged


def means(rankings: Iterable[Ranking], way: Way) -> dict[str, float | None]:
    """Of every metric, over the queries that count; None where no query does."""
    counted = [ranking for ranking in rankings if is_counted(ranking, way)]
    if not counted:
        return dict.fromkeys(METRICS)
    return {name: sum(map(metric, counted)) / len(counted) for name, metric in METRICS.items()}
