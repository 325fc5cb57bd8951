"""What a candidate's rank says of its label before any vote, learnt from votes alone.

A logistic regression on labels that nobody knows: an item counts as far as its votes tell its
label, and not at all where they say nothing. A ridge draws the slope to 0, and one that chance may
make is 0, as is one upwards, which no retriever has. It is the rank and not the score: each vote of
a release has it, while an imported set or a pool of retrievers may have no score.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from annotation.protocol.aggregation.calibration import RIDGE
from annotation.protocol.aggregation.table import Floats, Ints

STANDARD_ERRORS = 2.0  # one-sided: chance makes as steep a slope once in 44 campaigns


@dataclass(frozen=True)
class RankPrior:
    """Log-odds of label 1: `slope` times the rank's logarithm, and `offset` more."""

    offset: float
    slope: float = 0.0

    def __call__(self, ranks: Ints) -> Floats:
        return self.offset + self.slope * np.log(ranks)


def fit_rank_prior(said: Floats, ranks: Ints, alike: float) -> RankPrior:
    """`said`: of each item, the log-odds by its votes; `alike`: by no rank and no vote."""
    apart = np.log(ranks)
    middle = apart.mean()
    rows = np.stack([np.ones(len(ranks)), apart - middle], axis=1)
    start = np.array([alike, 0.0])

    def loss(at: Floats, free: Floats) -> tuple[float, Floats]:
        before = rows @ at
        after = before + said
        pull = RIDGE * (at - start)
        total = (np.logaddexp(0, before) - np.logaddexp(0, after)).sum()
        gradient = rows.T @ (expit(before) - expit(after)) + pull
        return float(total + (pull**2).sum() / (2 * RIDGE)), gradient * free

    flat, tilted = (
        minimize(loss, start, (np.array([1.0, free]),), jac=True, method="BFGS")
        for free in (0.0, 1.0)
    )
    offset, slope = tilted.x.tolist()
    if slope >= 0 or 2 * (flat.fun - tilted.fun) <= STANDARD_ERRORS**2:
        return RankPrior(alike)
    return RankPrior(offset - slope * middle, slope)
