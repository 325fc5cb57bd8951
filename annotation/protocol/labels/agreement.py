"""How far the first two annotators of each triplet agree, with intervals from a bootstrap.

Votes on one query's candidates are no independent draws, so whole queries are resampled. What a
query says is a row of counts, and what a resample says a product of weights and counts: half a
million triplets are never walked twice. All sums are of whole numbers, so no machine's order of
summing moves a figure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.labels.expert_agreement import DECIMALS

LEVEL = 0.95
REPLICATES = 1000
SEED = 20

Floats = NDArray[np.float64]
# A row for each query: how many of its triplets got the first two votes 00, 01, 10 and 11.
Pairs = NDArray[np.int64]
Figure = Callable[[Floats], Floats]  # totals (replicates, columns) -> (replicates,)


@dataclass(frozen=True)
class Estimate:
    """A figure with the ends of its interval; None where it is not defined."""

    value: float | None
    low: float | None
    high: float | None


def estimate(table: NDArray[np.int64], figure: Figure) -> Estimate:
    """The figure of all rows together, and the middle LEVEL of that of their resamples."""
    value = figure(table.sum(axis=0, dtype=np.float64)[None, :])[0]
    if not np.isfinite(value):
        return Estimate(None, None, None)
    return Estimate(rounded(value), *interval(bootstrap(table, figure)))


def agreement(pairs: Pairs) -> float | None:
    """Of all queries together; None without a triplet that has two votes."""
    return rounded(observed(pairs.sum(axis=0, dtype=np.float64)[None, :])[0])


def observed(pairs: Floats) -> Floats:
    """The share of triplets whose first two votes are the same; nan without any."""
    return divided(pairs[:, 0] + pairs[:, 3], pairs.sum(axis=1))


def kappa(pairs: Floats) -> Floats:
    """Cohen's; nan where all votes are the same, for chance alone agrees on everything then."""
    n = pairs.sum(axis=1)
    first, second = pairs[:, 2] + pairs[:, 3], pairs[:, 1] + pairs[:, 3]
    by_chance = first * second + (n - first) * (n - second)
    return divided(n * (pairs[:, 0] + pairs[:, 3]) - by_chance, n * n - by_chance)


def bootstrap(table: NDArray[np.int64], figure: Figure) -> Floats:
    """The figure of each resample of the table's rows; every figure sees the same resamples."""
    random = np.random.RandomState(SEED)  # whose stream no version of numpy changes
    rows, columns = table.shape
    exact = table.astype(np.float64)
    totals = np.empty((REPLICATES, columns))
    for replicate in range(REPLICATES):
        weights = np.bincount(random.randint(0, rows, rows), minlength=rows)
        totals[replicate] = weights.astype(np.float64) @ exact
    return figure(totals)


def interval(replicates: Floats) -> tuple[float | None, float | None]:
    """The middle LEVEL of the resamples in which the figure is defined."""
    defined = replicates[np.isfinite(replicates)]
    if not len(defined):
        return None, None
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return rounded(low), rounded(high)


def rounded(number: float) -> float | None:
    """None for what is not defined; no negative zero."""
    return round(float(number), DECIMALS) + 0.0 if np.isfinite(number) else None


def divided(part: Floats, whole: Floats) -> Floats:
    """nan where nothing is divided."""
    shares: Floats = np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole != 0)
    return shares
