"""Models of workers who toss coins: each says what is right with a chance of their own.

Of one coin: the same chance whatever the item's label. Of two (Dawid and Skene 1979): one for
items of label 1, another for those of 0, as it must be where workers miss more than they invent.
Workers are of one population: what is known of all is the prior of each, as strong as their
differences allow (a beta-binomial's likelihood says how strong), so that somebody with three
votes counts nearly as the average, and somebody with three hundred as themselves. Found by
variational Bayes, with the controls as known answers.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.special import betaln, digamma, expit

from annotation.protocol.aggregation.table import (
    UNKNOWN,
    Aggregator,
    Floats,
    VoteTable,
    Weights,
)

# Votes that the population is worth, as a prior of each worker's coin.
STRENGTHS = 2.0 ** np.arange(8)
# How many times the items' own number the first estimate of the share of 1 is worth. Left to
# itself the share runs to 0 or 1 where two votes an item say little.
SHARE_STRENGTH = 4.0
ROUNDS = 100
SETTLED = 1e-4  # the greatest change of a posterior in the last round
LEAST_SHARE = 0.02


def one_coin(table: VoteTable) -> Weights:
    return fit(table, coins=1)


def two_coin(table: VoteTable) -> Weights:
    return fit(table, coins=2)


def blend(table: VoteTable, two: float) -> Weights:
    """The log-odds of both models, `two` of 1 from that of two coins."""
    ones, twos = fit(table, coins=1), fit(table, coins=2)
    return Weights((1 - two) * ones.prior + two * twos.prior, (1 - two) * ones.of + two * twos.of)


def blended(two: float) -> Aggregator:
    return partial(blend, two=two)


def fit(table: VoteTable, coins: int) -> Weights:
    open_items = ~table.is_known & (table.votes() > 0)
    prior_share = first_share(table)
    cells = 2 * table.worker + table.vote
    cast = np.bincount(cells, minlength=2 * table.workers).reshape(-1, 2)
    posterior = np.where(table.is_known, table.known, (table.yes() + 0.5) / (table.votes() + 1))
    for _ in range(ROUNDS):
        ones = np.bincount(cells, posterior[table.item], minlength=2 * table.workers).reshape(-1, 2)
        counts = np.stack([cast - ones, ones], axis=1)  # (workers, label, vote)
        if coins == 1:
            right = counts[:, 0, 0] + counts[:, 1, 1]
            wrong = counts[:, 0, 1] + counts[:, 1, 0]
            counts = np.stack([right, wrong, wrong, right], axis=1).reshape(-1, 2, 2)
        counts = counts + _prior(counts)
        log_rates = digamma(counts) - digamma(counts.sum(axis=2, keepdims=True))
        weight = log_rates[:, 1] - log_rates[:, 0]
        evidence = np.bincount(table.item, weight.reshape(-1)[cells], minlength=table.items)
        of_one, count = posterior[open_items].sum(), open_items.sum()
        beforehand = max(1.0, SHARE_STRENGTH * count)
        odds = digamma(of_one + beforehand * prior_share) - digamma(
            count - of_one + beforehand * (1 - prior_share)
        )
        new = np.where(table.is_known, table.known, expit(odds + evidence))
        change = np.abs(new - posterior).max(initial=0.0)
        posterior = new
        if change < SETTLED:
            break
    return Weights(float(odds), weight)


def _prior(counts: Floats) -> Floats:
    """(label, vote): the population's votes, as many as its members' likeness is worth.

    A worker more often right than wrong is what everybody starts from: one vote wrong, two right.
    """
    total = counts.sum(axis=0) + np.array([[2.0, 1.0], [1.0, 2.0]])
    means = total / total.sum(axis=1, keepdims=True)
    prior = np.empty((2, 2))
    for label, mean in enumerate(means):
        tried = STRENGTHS[:, None, None] * mean  # (strengths, 1, vote)
        likelihood = betaln(*np.moveaxis(tried + counts[:, label], 2, 0)).sum(axis=1)
        likelihood -= len(counts) * betaln(*np.moveaxis(tried, 2, 0))[:, 0]
        prior[label] = STRENGTHS[likelihood.argmax()] * mean
    return prior


def first_share(table: VoteTable) -> float:
    """Of 1 among the items that are not known.

    From the share of votes for 1, corrected where there are controls by how often votes on them
    are wrong: where ones are rare, most votes for 1 may be. Else from the majorities.
    """
    known, vote = table.known[table.item], table.vote
    asked = vote[known == UNKNOWN]
    if not len(asked):
        return 0.5
    if len(asked) < len(vote):
        yes_of_0, yes_of_1 = (
            (vote[known == label].sum() + 1 + label) / ((known == label).sum() + 3)
            for label in (0, 1)
        )
        # From the middle, so that a label's name says nothing where the controls say little.
        middle = (yes_of_0 + yes_of_1) / 2
        share = 0.5 + (asked.mean() - middle) / max(yes_of_1 - yes_of_0, 0.1)
    else:
        yes, no = table.yes(), table.votes() - table.yes()
        ones, zeros = (yes > no).sum(), (no > yes).sum()
        share = (ones + 1) / (ones + zeros + 2)
    return float(np.clip(share, LEAST_SHARE, 1 - LEAST_SHARE))
