"""How sure a mean over queries is: bootstrap intervals and paired randomization tests. Pure.

Values lie in rows, one a query, and columns, one a metric. RandomState's stream is frozen, so
that other versions of numpy draw the same: the figures of a release can be recomputed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95
REPLICATES = 1000
FLIPS = 10_000
SEED = 20
FLIPS_AT_ONCE = 500
# Sums of the same numbers in another order are equal up to this.
ROUNDING = 1e-9

Values = NDArray[np.float64]


def intervals(values: Values) -> tuple[Values, Values]:
    """The low and high ends for each column's mean, by resampling the queries (percentiles)."""
    random = np.random.RandomState(SEED)
    queries = len(values)
    drawn = [values[random.randint(0, queries, queries)].mean(axis=0) for _ in range(REPLICATES)]
    low, high = np.quantile(drawn, ((1 - LEVEL) / 2, (1 + LEVEL) / 2), axis=0)
    return low, high


def p_values(differences: Values) -> Values:
    """Two-sided, for each column: were the two systems alike, each query's sign would be chance.

    The share of random flips of the signs that give a difference as large; the one at hand is
    among them, so that no p is 0.
    """
    random = np.random.RandomState(SEED)
    observed = np.abs(differences.sum(axis=0)) - ROUNDING
    as_large: Values = np.ones_like(observed)
    for _ in range(FLIPS // FLIPS_AT_ONCE):
        signs = 2.0 * random.randint(0, 2, (FLIPS_AT_ONCE, len(differences))) - 1
        as_large += (np.abs(signs @ differences) >= observed).sum(axis=0)
    p: Values = as_large / (FLIPS + 1)
    return p


def roc_auc(labels: NDArray[np.bool_], scores: Values, weights: Values) -> Values:
    """How often a positive lies above a negative, ties counting a half; `weights`: a row a draw,
    how often each pair is in it."""
    order = np.argsort(scores, kind="stable")
    ranked = scores[order]
    begins = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))
    positives, negatives = (
        np.add.reduceat(weights[:, order] * one[order], begins, axis=1) for one in (labels, ~labels)
    )
    below = np.cumsum(negatives, axis=1) - negatives / 2
    areas: Values = (positives * below).sum(axis=1) / (
        positives.sum(axis=1) * negatives.sum(axis=1)
    )
    return areas
