"""How far the annotators agree, with intervals from a bootstrap over the queries.

Votes on one query's candidates are no independent draws, so whole queries are resampled. What a
query says is a row of counts, and what a resample says a product of weights and counts: half a
million triplets are never walked twice. All sums are of whole numbers, so no machine's order of
summing moves a figure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.expert import DECIMALS
from exports.bootstrap import LEVEL, REPLICATES, SEED

Floats = NDArray[np.float64]
Figure = Callable[[Floats], Floats]  # totals (replicates, columns) -> (replicates,)


@dataclass(frozen=True)
class VoteCounts:
    """A row for each query that was voted on.

    `pairs`: how many triplets got the first two votes 00, 01, 10 and 11. `units`: how many
    triplets have the votes that `kinds` says, a (votes, votes for 1) for each column.
    """

    pairs: NDArray[np.int64]
    units: NDArray[np.int64]
    kinds: Sequence[tuple[int, int]]

    @property
    def by_kind(self) -> dict[tuple[int, int], int]:
        return dict(zip(self.kinds, self.units.sum(axis=0).tolist(), strict=True))


def agreement_figures(counts: VoteCounts) -> dict[str, object]:
    figures: Mapping[str, tuple[NDArray[np.int64], Figure]] = {
        "agreement": (counts.pairs, observed),
        "kappa": (counts.pairs, kappa),
        "alpha": (counts.units, lambda totals: alpha(totals, counts.kinds)),
    }
    found: dict[str, object] = {}
    for name, (table, figure) in figures.items():
        value = figure(table.sum(axis=0, dtype=np.float64)[None, :])[0]
        low, high = interval(bootstrap(table, figure)) if np.isfinite(value) else (None, None)
        found[name] = rounded(value)
        found[f"{name}_interval"] = None if low is None else [low, high]
    return {
        **found,
        "triplets": int(counts.pairs.sum()),
        "votes": sum(votes * n for (votes, _), n in counts.by_kind.items()),
        "replicates": REPLICATES,
        "seed": SEED,
        "level": LEVEL,
    }


def observed(pairs: Floats) -> Floats:
    """The share of triplets whose first two votes are the same; nan without any."""
    return _divided(pairs[:, 0] + pairs[:, 3], pairs.sum(axis=1))


def kappa(pairs: Floats) -> Floats:
    """Cohen's; nan where all votes are the same, for chance alone agrees on everything then."""
    n = pairs.sum(axis=1)
    first, second = pairs[:, 2] + pairs[:, 3], pairs[:, 1] + pairs[:, 3]
    by_chance = first * second + (n - first) * (n - second)
    return _divided(n * (pairs[:, 0] + pairs[:, 3]) - by_chance, n * n - by_chance)


def alpha(units: Floats, kinds: Sequence[tuple[int, int]]) -> Floats:
    """Krippendorff's for two nominal values, over the triplets with at least two votes.

    nan where there is none, or where all their votes are the same.
    """
    ones, zeros, differing = (np.zeros(len(units)) for _ in range(3))
    for column, (votes, yes) in enumerate(kinds):
        if votes > 1:
            ones += units[:, column] * yes
            zeros += units[:, column] * (votes - yes)
            differing += units[:, column] * (yes * (votes - yes) / (votes - 1))
    return 1 - _divided((ones + zeros - 1) * differing, ones * zeros)


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


def _divided(part: Floats, whole: Floats) -> Floats:
    found: Floats = np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole != 0)
    return found
