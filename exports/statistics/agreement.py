"""How far the annotators agree, with intervals from a bootstrap over the queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.labels.agreement import (
    LEVEL,
    REPLICATES,
    SEED,
    Figure,
    Floats,
    Pairs,
    divided,
    estimate,
    kappa,
    observed,
)


@dataclass(frozen=True)
class VoteCounts:
    """A row for each query that was voted on.

    `units`: how many triplets have the votes that `kinds` says, a (votes, votes for 1) for each
    column.
    """

    pairs: Pairs
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
    measures: dict[str, object] = {}
    for name, (table, figure) in figures.items():
        one = estimate(table, figure)
        measures[name] = one.value
        measures[f"{name}_interval"] = None if one.low is None else [one.low, one.high]
    return {
        **measures,
        "triplets": int(counts.pairs.sum()),
        "votes": sum(votes * n for (votes, _), n in counts.by_kind.items()),
        "replicates": REPLICATES,
        "seed": SEED,
        "level": LEVEL,
    }


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
    return 1 - divided((ones + zeros - 1) * differing, ones * zeros)
