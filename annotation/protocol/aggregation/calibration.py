"""From log-odds that an aggregator claims to chances that come true.

Controls are easier than the items that they guard, so what comes true of controls is an upper
bound. The map of items begins at that of controls, and experts' blind labels of a random sample,
the audit, move it: its offset and slope have a standard error. Until that is small, no posterior
may be shown as a probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from annotation.protocol.aggregation.table import MOST_ODDS, SURE, Floats, Ints, VoteTable, Weights
from annotation.protocol.labels.label_error import wilson_interval

RIDGE = 1.0  # of offset and slope: rows that speak for what the map begins at
MOST_ERROR = 0.015  # the mean standard error of a probability that may be shown
# Of fewer, the standard error itself is a guess: a share of 3.5 % is known to .015 by 150.
LEAST_SAMPLED = 150
LEAST_SLOPE = 0.1  # of items: their votes say something
LEAST_APART = 1e-6
MOST_WEIGHT = 50.0  # of a vote: whoever is surer is as sure as SURE, and exp has an end
FOLDS = 5
BINS = 10


@dataclass(frozen=True)
class LogisticMap:
    """Platt's: the log-odds times `slope`, and `offset` more."""

    offset: float = 0.0
    slope: float = 1.0

    def __call__(self, log_odds: Floats) -> Floats:
        """The chances."""
        chances: Floats = expit(self.offset + self.slope * log_odds)
        return chances.clip(1 - SURE, SURE)


AS_CLAIMED = LogisticMap()


@dataclass(frozen=True)
class Calibration:
    """The map of items, which `sampled` of them have made, with the (2, 2) covariance of its
    offset and slope."""

    map: LogisticMap
    covariance: Floats
    sampled: int

    def standard_error(self, log_odds: Floats) -> float:
        """Of a probability, in the mean over items of these log-odds."""
        rows = np.stack([np.ones_like(log_odds), log_odds], axis=1)
        chances = self.map(log_odds)
        spread = np.sqrt(np.einsum("ij,jk,ik->i", rows, self.covariance, rows))
        return float((chances * (1 - chances) * spread).mean())

    @property
    def errors_and_correlation(self) -> tuple[float, float, float]:
        """The standard errors of offset and slope, and the correlation of the two."""
        of_offset, of_slope = np.sqrt(np.diag(self.covariance))
        both = self.covariance[0, 1] / (of_offset * of_slope)
        return float(of_offset), float(of_slope), float(both)

    def may_be_shown(self, log_odds: Floats) -> bool:
        """`log_odds`: of all items that have votes."""
        return self.sampled >= LEAST_SAMPLED and self.standard_error(log_odds) <= MOST_ERROR


def calibrate(log_odds: Floats, labels: Ints, begin: LogisticMap) -> Calibration:
    """By sampled items, with Laplace's covariance."""
    fitted = fit_map(log_odds, labels, np.ones(len(labels)), begin=begin)
    rows = np.stack([np.ones_like(log_odds), log_odds], axis=1)
    chances = fitted(log_odds)
    information = rows.T @ (rows * (chances * (1 - chances))[:, None]) + RIDGE * np.eye(2)
    covariance = np.linalg.inv(information).astype(np.float64)
    return Calibration(fitted, covariance, len(labels))


def fit_map(
    log_odds: Floats,
    labels: Ints,
    weights: Floats,
    *,
    begin: LogisticMap = AS_CLAIMED,
    may_shift: bool = True,
) -> LogisticMap:
    """Of most likelihood, drawn a little towards where it begins.

    Without `may_shift` it moves no label: only how sure of it one is.
    """
    sign = 2 * labels - 1
    start = np.array([begin.offset, begin.slope])

    def loss(at: Floats) -> tuple[float, Floats]:
        offset, slope = at
        margin = sign * (offset + slope * log_odds)
        slack = -sign * weights * expit(-margin)
        pull = RIDGE * (at - start)
        gradient = np.array([slack.sum(), (slack * log_odds).sum()]) + pull
        total = (weights * np.logaddexp(0, -margin)).sum() + (pull**2).sum() / (2 * RIDGE)
        return float(total), gradient * (may_shift, 1)

    offset, slope = minimize(loss, start, jac=True, method="BFGS").x
    return LogisticMap(float(offset), float(slope))


def by_agreement(table: VoteTable, weights: Weights, begin: LogisticMap) -> LogisticMap:
    """A map of items that promises no more than their own votes bear out.

    Items are harder than controls where votes on them agree less than votes on controls are right:
    of most likelihood are how much a vote weighs there, and how frequent label 1 is. Votes on one
    item are taken to be independent, so it may still promise too much. It is never surer than
    `begin`, and where no item has two votes it says nothing else.
    """
    rows = np.flatnonzero(~table.is_known[table.item])
    item, said = table.item[rows], (table.worker[rows], table.vote[rows])
    asked = np.unique(item)
    start = np.array([begin.offset, begin.slope])

    def loss(at: Floats) -> float:
        offset, slope = at
        of_1, of_0 = (
            np.bincount(item, log_rates[said], minlength=table.items)[asked]
            for log_rates in _log_rates(slope * weights.of)
        )
        odds = offset + slope * weights.prior
        likelihood = np.logaddexp(log_expit(odds) + of_1, log_expit(-odds) + of_0)
        pull: Floats = at - start
        return float((pull**2).sum() * RIDGE / 2 - likelihood.sum())

    # Controls may say that votes are worth less than that, or speak for the opposite.
    limits = [(-MOST_ODDS, MOST_ODDS), (min(LEAST_SLOPE, begin.slope), begin.slope)]
    offset, slope = minimize(loss, start, method="L-BFGS-B", bounds=limits).x
    return LogisticMap(float(offset), float(slope))


def _log_rates(weights: Floats) -> tuple[Floats, Floats]:
    """Of each worker's votes (workers, 2) where the label is 1, and where it is 0."""
    against, favour = weights.clip(max=MOST_WEIGHT).T
    apart = np.abs(favour - against) > LEAST_APART  # else a vote says nothing
    span = np.where(apart, np.exp(favour) - np.exp(against), 1.0)
    of_0 = np.where(apart, (1 - np.exp(against)) / span, 0.5).clip(1 - SURE, SURE)
    of_1 = np.where(apart, np.exp(favour) * of_0, 0.5).clip(1 - SURE, SURE)
    return np.log(np.stack([1 - of_1, of_1], 1)), np.log(np.stack([1 - of_0, of_0], 1))


def log_losses(chances: Floats, labels: Ints) -> Floats:
    return -np.log(np.where(labels == 1, chances, 1 - chances))


class Bin(NamedTuple):
    """Of a reliability diagram: items whose chance of 1 is about `chance`, and the share of them
    that are 1, with its 95 % interval."""

    items: int
    chance: float
    share: float
    low: float
    high: float


def reliability(log_odds: Floats, labels: Ints, begin: LogisticMap) -> Sequence[Bin]:
    """Of sampled items, by maps that the others made."""
    chances = np.empty(len(labels))
    # By chance: in the order of items every fifth may be a query's first candidate.
    fold = np.random.default_rng(0).permutation(len(labels)) % FOLDS
    for one in range(FOLDS):
        rest = fold != one
        mapped = calibrate(log_odds[rest], labels[rest], begin).map
        chances[~rest] = mapped(log_odds[~rest])
    return bins_of(chances, labels)


def bins_of(chances: Floats, labels: Ints) -> Sequence[Bin]:
    """By tenths, without the empty ones."""
    which = np.minimum((chances * BINS).astype(int), BINS - 1)
    bins = []
    for one in np.unique(which):
        inside = which == one
        items, ones = int(inside.sum()), int(labels[inside].sum())
        interval = wilson_interval(ones, items)
        bins.append(Bin(items, float(chances[inside].mean()), ones / items, *interval))
    return bins


def calibration_error(bins: Sequence[Bin]) -> float:
    """How far chances are from what comes true: the mean over all items, by bins."""
    return sum(one.items * abs(one.chance - one.share) for one in bins) / sum(
        one.items for one in bins
    )
