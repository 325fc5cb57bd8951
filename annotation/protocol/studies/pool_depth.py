"""What a query's first ranks hide: of some queries, deeper ranks were judged as well.

The queries are a random sample, whose positives are no independent draws: whole queries are
resampled for the interval.

Where the sample hides nothing, or shows nothing, every resample says the same, and yet the next
query may differ. The interval's other end is then that of Clopper and Pearson, with each query
that has a positive as one trial: as if all positives of a query were hidden, or shown, together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.labels.expert_agreement import DECIMALS

LEVEL = 0.95
REPLICATES = 1000
SEED = 20

# Of a query, by rank from 1: its label, or None where the votes made none.
Labels = Sequence[int | None]


@dataclass(frozen=True)
class Hidden:
    """Two blocks of ranks: those that every query was judged at, and those of the study."""

    queries: int
    positives_at_first: list[int]
    positives_at_next: list[int]
    positive_ranks: list[list[int]]  # of each query, those of the study
    positives_per_query_first: float
    positives_per_query_next: float
    # Of all positives in both blocks, the share in the second one; None: there are none.
    hidden_share: float | None
    hidden_share_interval: tuple[float, float] | None
    answerless_first: int
    answerless_with_one_next: int
    without_a_label: int


def hidden(queries: Sequence[Labels], *, first: int) -> Hidden:
    """`first`: how many ranks the first block has; all queries have the same number of ranks."""
    positive = np.array([[label == 1 for label in labels] for labels in queries], np.int64)
    by_rank = positive.sum(axis=0)
    before, after = positive[:, :first].sum(axis=1), positive[:, first:].sum(axis=1)
    total = int(positive.sum())
    return Hidden(
        queries=len(queries),
        positives_at_first=by_rank[:first].tolist(),
        positives_at_next=by_rank[first:].tolist(),
        positive_ranks=[(first + 1 + np.flatnonzero(row)).tolist() for row in positive[:, first:]],
        positives_per_query_first=_rounded(before.mean()),
        positives_per_query_next=_rounded(after.mean()),
        hidden_share=_rounded(after.sum() / total) if total else None,
        hidden_share_interval=_interval(before, after) if total else None,
        answerless_first=int((before == 0).sum()),
        answerless_with_one_next=int(((before == 0) & (after > 0)).sum()),
        without_a_label=sum(label is None for labels in queries for label in labels),
    )


def _interval(before: NDArray[np.int64], after: NDArray[np.int64]) -> tuple[float, float]:
    """Of the share, by resampling the queries; resamples without a positive tell nothing."""
    if not after.any() or not before.any():
        trials = int(np.count_nonzero(before + after))
        doubt = 1 - ((1 - LEVEL) / 2) ** (1 / trials)
        return (_rounded(1 - doubt), 1.0) if after.any() else (0.0, _rounded(doubt))
    random = np.random.RandomState(SEED)  # whose stream no version of numpy changes
    drawn = random.randint(0, len(after), (REPLICATES, len(after)))
    hiding, showing = after[drawn].sum(axis=1), before[drawn].sum(axis=1)
    known = hiding + showing > 0
    shares = hiding[known] / (hiding + showing)[known]
    low, high = np.quantile(shares, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return _rounded(low), _rounded(high)


def _rounded(number: float) -> float:
    return round(float(number), DECIMALS)
