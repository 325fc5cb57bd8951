"""What the metrics might be if no label were wrong and every candidate judged.

A world is drawn a thousand times: of each judged pair the label that it may truly have, and of what
no pool held the positives that a study of deeper ranks says there are. Queries are resampled in
each, so that an interval holds their chance as well. Systems are compared in the same worlds. Pure.

What a study saw at the ranks below a pool stands for the candidates that nobody judged: of a query,
the first one that a system ranks is as often positive as those at the study's first rank, the
second as those at its second, and those after its last rank are never.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit

from exports.evaluation.scoring import Labels, rounded
from retrieval.ranking.bootstrap import LEVEL, REPLICATES, SEED, Values
from retrieval.ranking.metrics import METRICS, Way

CERTAIN = 12.0  # log-odds of what is known
RANKS_SPREAD = 3.0  # of what rankings may add to log-odds, before any label is seen
STEEP_SYSTEMS = 2  # of more, the first ranks of each add less: what they fit by chance sums up
Flags = NDArray[np.bool_]
Cells = NDArray[np.int64]  # a row a query, its candidates best first, by their places in a world
Orders = Sequence[Sequence[str]]  # what a run ranks of each query of the split, best first


@dataclass(frozen=True)
class LogOdds:
    """Of the label 1: linear in what is read of a pair, by coefficients that are normal."""

    read: Values  # (pairs, coefficients)
    mean: Values
    root: Values  # of the coefficients' covariance

    @classmethod
    def exact(cls, odds: Values) -> LogOdds:
        return cls(odds[:, None], np.ones(1), np.zeros((1, 1)))

    @property
    def expected(self) -> Values:
        return self.read @ self.mean

    def draw(self, random: np.random.RandomState) -> Values:
        drawn: Values = self.mean + self.root @ random.standard_normal(len(self.mean))
        return self.read @ drawn


@dataclass(frozen=True)
class LabelChances:
    """How likely 1 is the truth, of each judged pair of a split, in its order."""

    known: Values  # NaN: as the log-odds say
    parts: Sequence[tuple[Flags, LogOdds]] = ()  # of which pairs, each by the same coefficients
    retrieved: Values | None = None  # as `ranks` below, of the retriever where they made labels
    by_ranks: LogOdds | None = None  # what rankings add

    def draw(self, random: np.random.RandomState) -> Flags:
        odds = np.zeros(len(self.known))
        for pairs, part in self.parts:
            odds[pairs] = part.draw(random)
        if self.by_ranks is not None:
            odds += self.by_ranks.draw(random)
        drawn: Flags = random.random_sample(len(odds)) < expit(odds)
        drawn[~np.isnan(self.known)] = self.known[~np.isnan(self.known)] == 1
        return drawn

    def with_ranks(self, ranks: Values) -> LabelChances:
        """Truths drawn by labels alone would not depend on rankings, and a good system would look
        as bad as if it ranked blindly wherever a label is unsure.

        Given the truth, a label is taken to err independently of the ranks. So both are evidence,
        and how frequent 1 is at each rank follows from the labels: of most likelihood. `ranks`: a
        row a pair, a column a system, from 1.
        """
        odds = np.where(self.known == 1, CERTAIN, -CERTAIN)
        for pairs, part in self.parts:
            odds[pairs] = part.expected.clip(-CERTAIN, CERTAIN)
        if self.retrieved is not None:
            ranks = np.hstack([self.retrieved, ranks])
        # Each once, and in an order of their own: whoever names the systems otherwise draws alike.
        systems = np.unique(ranks, axis=1)
        steep = min(1.0, STEEP_SYSTEMS / systems.shape[1]) / systems
        read = np.unique(np.hstack([np.log(systems), steep]), axis=1)
        read = np.hstack([np.ones((len(read), 1)), read - read.mean(axis=0)])
        return replace(self, by_ranks=_of_ranks(odds, read))


def _of_ranks(odds: Values, read: Values) -> LogOdds:
    """`read`: with a column of ones."""
    base = float(logit(expit(odds).mean()))
    evidence, precision = odds - base, RANKS_SPREAD**-2

    def loss(at: Values) -> tuple[float, Values]:
        prior = base + read @ at
        likelihood = np.logaddexp(log_expit(prior) + evidence, log_expit(-prior))
        slope = read.T @ (expit(prior + evidence) - expit(prior)) - precision * at
        return float(precision * (at @ at) / 2 - likelihood.sum()), -slope

    mean = minimize(loss, np.zeros(read.shape[1]), jac=True, method="BFGS").x
    prior = expit(base + read @ mean)
    chance = expit(base + read @ mean + evidence)
    bend = (read.T * (prior * (1 - prior) - chance * (1 - chance))) @ read
    values, vectors = np.linalg.eigh(bend + precision * np.eye(len(mean)))
    # Where the search ends beside the top a bend may be none.
    return LogOdds(read, mean, (vectors / np.sqrt(values.clip(precision))) @ vectors.T)


@dataclass(frozen=True)
class World:
    labels: Flags  # of the judged pairs, then of what the pool hides, then of what is no positive
    positives: Values  # of each query
    counted: Flags


@dataclass(frozen=True)
class Worlds:
    """`hidden`: a row a query of the study, whether the candidate at each of its ranks is positive;
    no columns without a study."""

    chances: LabelChances
    sizes: Sequence[int]  # how many judged pairs each query has
    hidden: Flags
    way: Way

    def draw(self, random: np.random.RandomState) -> World:
        queries = len(self.sizes)
        judged = self.chances.draw(random)
        query = np.repeat(np.arange(queries), self.sizes)
        positives = np.bincount(query, judged, queries)
        some = (positives > 0) & (positives < self.sizes)
        counted = some if self.way == "clean" else np.full(queries, True)
        # The study might have drawn other queries, too.
        studied = random.randint(0, len(self.hidden), len(self.hidden))
        hidden = self.hidden[studied[random.randint(0, len(studied), queries)]]
        labels = np.concatenate([judged, hidden.ravel(), [False]])
        return World(labels, positives + hidden.sum(axis=1), counted)

    def cells(self, runs: Sequence[Orders], labels: Labels) -> list[Cells]:
        """Of each run. A candidate that nobody judged has one place, whichever runs rank it."""
        deep, pairs = self.hidden.shape[1], sum(self.sizes)
        nothing = pairs + len(self.sizes) * deep
        longest = max(1, *(len(order) for run in runs for order in run))
        cells = [np.full((len(self.sizes), longest), nothing) for _ in runs]
        begin = 0
        for row, judged in enumerate(labels.values()):
            places = {candidate: begin + at for at, candidate in enumerate(judged)}
            begin += len(judged)
            unjudged = _in_turn([[one for one in run[row] if one not in judged] for run in runs])
            slots = range(pairs + row * deep, pairs + (row + 1) * deep)
            places |= dict(zip(unjudged, slots, strict=False))
            for run, of_run in zip(runs, cells, strict=True):
                of_run[row, : len(run[row])] = [places.get(one, nothing) for one in run[row]]
        return cells

    def means(
        self, systems: Sequence[Sequence[Orders]], labels: Labels, *, worlds: int = REPLICATES
    ) -> Values:
        """(worlds, systems, METRICS): of each system the mean over its runs; NaN where no query
        counts."""
        cells = iter(self.cells([run for system in systems for run in system], labels))
        of_system = [[next(cells) for _ in system] for system in systems]
        random = np.random.RandomState(SEED)
        means = np.full((worlds, len(systems), len(METRICS)), np.nan)
        for drawn in means:
            world, queries = self.draw(random), len(self.sizes)
            times = np.bincount(random.randint(0, queries, queries), minlength=queries)
            times *= world.counted
            if times.any():
                for row, runs in enumerate(of_system):
                    by_run = [metrics(world.labels[run], world.positives) for run in runs]
                    drawn[row] = times @ np.mean(by_run, axis=0) / times.sum()
        return means


def metrics(labels: Flags, positives: Values) -> Values:
    """As `retrieval.ranking.metrics.values` has them, of many worlds in the time of one.

    `labels`: a row a query, best first; `positives`: how many each query has, ranked or not.
    """
    places = np.arange(1, labels.shape[1] + 1)
    precision = np.where(labels, labels.cumsum(axis=1) / places, 0).sum(axis=1)
    first = np.where(labels.any(axis=1), labels.argmax(axis=1) + 1, np.inf)
    columns = (first == 1, precision / np.maximum(positives, 1), 1 / first, first <= 5, first <= 10)
    return np.stack(columns, axis=1).astype(np.float64)


def spread(drawn: Values) -> dict[str, dict[str, float | None]]:
    """Of each metric, a row a world: the mean, and the ends of the interval."""
    known = drawn[~np.isnan(drawn).any(axis=1)]
    if not len(known):
        return {name: dict.fromkeys(("value", "low", "high")) for name in METRICS}
    low, high = np.quantile(known, ((1 - LEVEL) / 2, (1 + LEVEL) / 2), axis=0)
    columns = zip(METRICS, known.mean(axis=0), low, high, strict=True)
    return {
        name: dict(zip(("value", "low", "high"), map(rounded, figures), strict=True))
        for name, *figures in columns
    }


def _in_turn(orders: Iterable[Sequence[str]]) -> Iterable[str]:
    """The first of each, then the second of each; none twice."""
    return dict.fromkeys(
        one for together in zip_longest(*orders) for one in together if one is not None
    )
