"""Who shares more errors than chance allows: workers two by two, or each with a machine.

Honest workers err together, too: on hard items, and where the instructions mislead many. So the
chance of an error is of both (Rasch 1960): of how often the worker errs on items of this kind, and
of how hard the item is, as all others who answered it show. Beside it stands a bet that two people
answer as one in a share of their common items. How much better the bet does is an e-value: where
nobody copies it is as high as x for at most one pair in x, however often one looks (Ville 1939).
The e-values of all pairs are cut (Wang and Ramdas 2022) so that, of the pairs that are named, at
most FALSE_ALARMS are chance; where nobody copies, any is named with that chance at most. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit, log_expit, logit, logsumexp, softmax

from annotation.protocol.aggregation.table import Floats, Ints

Flags = NDArray[np.bool_]
FALSE_ALARMS = 0.01
LEAST_SHARED = 2  # errors of both, and so many standard errors above chance: fewer prove nothing
SIGMAS = 2.0
BETS = np.arange(0.1, 1, 0.1)  # shares of common items that two answer as one
# How hard an item is: nodes of a normal distribution.
NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
LOG_WEIGHTS = np.log(_WEIGHTS / _WEIGHTS.sum())
ROUNDS = 30
SETTLED = 0.01  # in log-odds
DISTANCE = 1.5  # of workers from each other, in log-odds, before anything is known of one
MOST_SPREAD = 3.0
SMALLEST = 1e-9  # chance, whose logarithm is a number


@dataclass(frozen=True)
class Answers:
    """Answers to items whose label is known, a row each, no item twice by one worker. Workers and
    items are numbered from 0; `kind` has a place for each item: those of a kind are alike."""

    worker: Ints
    item: Ints
    wrong: Flags
    kind: Ints

    @property
    def workers(self) -> int:
        return int(self.worker.max(initial=-1)) + 1


@dataclass(frozen=True)
class Pair:
    """`both_wrong` of the `shared` items that both answered, and how many chance explains.
    `log_evidence`: of the e-value."""

    first: int
    second: int
    shared: int
    both_wrong: int
    expected: float
    log_evidence: float


@dataclass(frozen=True)
class Named:
    """`pairs`: the clearest first, of so many that were `compared`."""

    pairs: list[Pair]
    compared: int


def name_pairs(answers: Answers, *, machine: int | None = None) -> Named:
    """With a `machine` among the workers, each other one beside it alone."""
    if not len(answers.item):
        return Named([], 0)
    model = _fit(answers)
    met, both_wrong, expected = (
        _products(answers, values)
        for values in (np.ones(len(answers.item)), answers.wrong, model.mean_chances())
    )
    asked = np.triu(met > 0, 1)
    if machine is not None:
        is_machine = np.arange(answers.workers) == machine
        asked &= is_machine | is_machine[:, None]
    likely = asked & (both_wrong >= LEAST_SHARED)
    likely &= both_wrong > expected + SIGMAS * np.sqrt(expected)
    pairs = [model.pair(*two) for two in np.argwhere(likely).tolist()]
    pairs.sort(key=lambda pair: -pair.log_evidence)
    compared = int(asked.sum())
    bound = np.log(max(1, compared) / FALSE_ALARMS)
    clear = [n for n, pair in enumerate(pairs, 1) if pair.log_evidence >= bound - np.log(n)]
    return Named(pairs[: max(clear, default=0)], compared)


@dataclass(frozen=True)
class _Rasch:
    """`ability`: the log-odds of an error of each answer's worker on an item of its kind that is
    neither hard nor easy. `of_item`: (items, nodes), the log-likelihood of all its answers."""

    answers: Answers
    ability: Floats
    spread: Floats  # of how hard the items of each kind are
    of_item: Floats

    def chances(self, rows: Ints) -> Floats:
        """(rows, nodes), of an error, as if the item were as hard as the node."""
        spread = self.spread[self.answers.kind[self.answers.item[rows]]]
        chances: Floats = expit(self.ability[rows, None] + spread[:, None] * NODES)
        return chances.clip(SMALLEST, 1 - SMALLEST)

    def mean_chances(self) -> Floats:
        hardness = softmax(self.of_item + LOG_WEIGHTS, axis=1)
        spread = self.spread[self.answers.kind[self.answers.item]]
        chances = np.zeros(len(self.ability))
        for node, place in enumerate(NODES):
            weight = hardness[self.answers.item, node]
            chances += weight * expit(self.ability + spread * place)
        return chances

    def pair(self, first: int, second: int) -> Pair:
        answers = self.answers
        rows = [np.flatnonzero(answers.worker == worker) for worker in (first, second)]
        items, *places = np.intersect1d(
            answers.item[rows[0]], answers.item[rows[1]], return_indices=True
        )
        rows = [of[at] for of, at in zip(rows, places, strict=True)]
        chances = [self.chances(of) for of in rows]
        wrong = [answers.wrong[of] for of in rows]
        likelihoods = [
            np.where(is_wrong[:, None], chance, 1 - chance)
            for is_wrong, chance in zip(wrong, chances, strict=True)
        ]
        # How hard the items are, as all but these two show it.
        by_others = self.of_item[items] - np.log(likelihoods[0]) - np.log(likelihoods[1])
        hardness = softmax(by_others + LOG_WEIGHTS, axis=1)
        apart = (hardness * likelihoods[0] * likelihoods[1]).sum(axis=1)
        either = (hardness * (chances[0] + chances[1])).sum(axis=1) / 2
        as_one = np.where(wrong[0], either, 1 - either) * (wrong[0] == wrong[1])
        evidence = np.log1p(BETS[:, None] * (as_one / apart - 1)).sum(axis=1)
        return Pair(
            first,
            second,
            shared=len(items),
            both_wrong=int((wrong[0] & wrong[1]).sum()),
            expected=float((hardness * chances[0] * chances[1]).sum()),
            log_evidence=float(logsumexp(evidence) - np.log(len(BETS))),
        )


def _fit(answers: Answers) -> _Rasch:
    """Abilities and spreads of most likelihood: expectation, then a step of Newton's."""
    kinds = int(answers.kind.max(initial=0)) + 1
    kind = answers.kind[answers.item]
    group = kinds * answers.worker + kind
    sign = np.where(answers.wrong, 1.0, -1.0)
    start = logit((answers.wrong.sum() + 0.5) / (len(answers.wrong) + 1))
    ability: Floats = np.full((answers.workers, kinds), start)
    spread: Floats = np.ones(kinds)
    for _ in range(ROUNDS):
        before, mine, wide = spread, ability.ravel()[group], spread[kind]
        likelihoods = [log_expit(sign * (mine + wide * place)) for place in NODES]
        sums = [np.bincount(answers.item, each, len(answers.kind)) for each in likelihoods]
        of_item = np.array(sums, np.float64).T
        hardness = softmax(of_item + LOG_WEIGHTS, axis=1)
        slack, bend, slope, curve = np.zeros((4, len(mine)))
        for node, place in enumerate(NODES):
            chance, weight = expit(mine + wide * place), hardness[answers.item, node]
            missed, doubt = weight * (answers.wrong - chance), weight * chance * (1 - chance)
            slack, bend = slack + missed, bend + doubt
            slope, curve = slope + missed * place, curve + doubt * place**2
        pull = (ability - ability.mean(axis=0)) / DISTANCE**2
        step = (np.bincount(group, slack, ability.size).reshape(ability.shape) - pull) / (
            np.bincount(group, bend, ability.size).reshape(ability.shape) + 1 / DISTANCE**2
        )
        ability = ability + step
        wider = (np.bincount(kind, slope, kinds) - spread + 1) / (
            np.bincount(kind, curve, kinds) + 1
        )
        spread = np.clip(spread + wider, 0, MOST_SPREAD)
        if max(np.abs(step).max(initial=0), np.abs(wider).max()) < SETTLED:
            break
    return _Rasch(answers, mine, before, of_item)


def _products(answers: Answers, values: Floats | Flags) -> Floats:
    """(workers, workers): the sum over the items that both answered."""
    shape = answers.workers, len(answers.kind)
    table = csr_array((values.astype(float), (answers.worker, answers.item)), shape)
    product: Floats = (table @ table.T).toarray()
    return product
