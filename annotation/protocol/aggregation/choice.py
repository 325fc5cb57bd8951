"""Which aggregator, by how well each foretells known answers that it is not given.

Controls have many votes, items two or three: so a control's votes are dealt into as many rows as
they make items of that size. Whole controls are hidden, a fold at a time. Half of the controls
have label 1, and few of the items may: rows weigh as much as makes both labels as frequent as
among the items. Where nothing beats the majority by more than chance may, majority it is.

Items that experts adjudicated are rows, too, and no aggregator is ever given these. They are the
hard ones, so how sure each is of them has a map of its own. That of the choice is of controls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from annotation.protocol.aggregation.calibration import LogisticMap, fit_map, log_losses
from annotation.protocol.aggregation.coins import blended, first_share, one_coin, two_coin
from annotation.protocol.aggregation.majorities import majority, weighted_majority
from annotation.protocol.aggregation.table import UNKNOWN, Aggregator, Floats, Ints, VoteTable
from annotation.protocol.labels.claims import MAJORITY, NAMES

_BY_NAME = (majority, weighted_majority, one_coin, blended(0.5), two_coin)
AGGREGATORS: Mapping[str, Aggregator] = dict(zip(NAMES, _BY_NAME, strict=True))
CONTROLS, ADJUDICATED = "controls", "adjudicated"  # known answers
FOLDS = 5
LEAST_KNOWN = 20  # of each label: of fewer, the standard error of a gain is a guess itself
STANDARD_ERRORS = 1.645  # one-sided: chance makes as great a gain once in twenty
# Where nothing is known of workers, each vote is taken to be right four times in five.
UNTRIED = LogisticMap(slope=1.4)


@dataclass(frozen=True)
class Choice:
    """`losses`: the mean log-loss of each aggregator on what it was not given, and `map`: from
    what the chosen one claims to the chances that come true on it.
    `known`: on how many answers of each sort.
    `gain`: of the chosen one over the majority, with its standard error."""

    name: str
    known: Mapping[str, int]
    losses: Mapping[str, float] = field(default_factory=dict)
    map: LogisticMap = UNTRIED
    gain: float = 0.0
    gain_error: float = 0.0

    @property
    def why(self) -> str:
        if not self.losses:
            return f"fewer than {LEAST_KNOWN} controls of each kind are answered"
        hidden = "hidden controls"
        if self.known[ADJUDICATED]:
            hidden += " and what experts adjudicated"
        if self.name == MAJORITY:
            return f"no model foretells {hidden} better than the majority, but by chance"
        return (
            f"it foretells {hidden} better than the majority, by {self.gain:.3f} "
            f"(standard error {self.gain_error:.3f}) in log-loss"
        )


def choose(
    table: VoteTable,
    aggregators: Mapping[str, Aggregator] = AGGREGATORS,
    *,
    adjudicated: Ints | None = None,
    seed: int = 0,
) -> Choice:
    """`aggregators`: the majority among them. `adjudicated`: labels of the items that are not
    known, or UNKNOWN. None of these may be in the audit: it measures the labels of the chosen."""
    voted = np.flatnonzero(table.is_known & (table.votes() > 0))
    hard, of_hard = _voted(table, adjudicated)
    count = {CONTROLS: len(voted), ADJUDICATED: len(hard)}
    if min(np.bincount(table.known[voted], minlength=2)) < LEAST_KNOWN:
        return Choice(MAJORITY, count)
    random = np.random.default_rng(seed)
    dealt, control = deal(table, random)
    rows = np.flatnonzero(dealt.is_known & (dealt.votes() > 0))
    fold = (random.permutation(table.items) % FOLDS)[control[rows]]
    labels, share = dealt.known[rows], first_share(table)
    weights = np.where(labels == 1, share / labels.mean(), (1 - share) / (1 - labels.mean()))
    maps, losses = {}, {}
    for name, aggregate in aggregators.items():
        claimed = _claims(aggregate, dealt, rows, fold)
        maps[name] = fit_map(claimed, labels, weights, may_shift=False)
        losses[name] = np.empty(len(labels))
        for one in range(FOLDS):
            here, rest = fold == one, fold != one
            mapped = fit_map(claimed[rest], labels[rest], weights[rest], may_shift=False)
            losses[name][here] = log_losses(mapped(claimed[here]), labels[here])
        claimed = aggregate(table).log_odds(table)[hard]
        mapped = fit_map(claimed, of_hard, np.ones(len(hard)), may_shift=False)
        losses[name] = np.append(losses[name], log_losses(mapped(claimed), of_hard))
    weights, answer = np.append(weights, np.ones(len(hard))), np.append(control[rows], hard)
    means = {name: float((weights * of).mean()) for name, of in losses.items()}
    best = min(means, key=lambda name: means[name])
    gain, error = _mean_and_error(weights * (losses[MAJORITY] - losses[best]), answer)
    if gain <= STANDARD_ERRORS * error:
        best, gain, error = MAJORITY, 0.0, 0.0
    return Choice(best, count, means, maps[best], gain, error)


def _voted(table: VoteTable, adjudicated: Ints | None) -> tuple[Ints, Ints]:
    """The adjudicated items that have votes, and their labels."""
    labels = np.full(table.items, UNKNOWN)
    if adjudicated is not None:
        labels[~table.is_known] = adjudicated
    items = np.flatnonzero((labels != UNKNOWN) & (table.votes() > 0))
    return items, labels[items]


def _claims(aggregate: Aggregator, dealt: VoteTable, rows: Ints, fold: Ints) -> Floats:
    """The log-odds of each row, whose fold is hidden then."""
    claimed = np.empty(len(rows))
    for one in range(FOLDS):
        hidden = rows[fold == one]
        known = dealt.known.copy()
        known[hidden] = UNKNOWN
        claimed[fold == one] = aggregate(replace(dealt, known=known)).log_odds(dealt)[hidden]
    return claimed


def deal(table: VoteTable, random: np.random.Generator) -> tuple[VoteTable, Ints]:
    """The table with each known item's votes dealt into items of the others' size; and of which
    item each of the new ones is a part."""
    # By size: whoever has the votes in another order deals the same.
    sizes = np.sort(table.votes()[~table.is_known & (table.votes() > 0)])
    order = np.lexsort((random.random(len(table.item)), table.item))
    order = order[table.is_known[table.item[order]]]
    item, control = table.item.copy(), [*range(table.items)]
    known = np.where(table.is_known, UNKNOWN, table.known)
    labels = list(known)
    for votes in np.split(order, np.flatnonzero(np.diff(table.item[order])) + 1):
        while len(votes):
            size = int(random.choice(sizes)) if len(sizes) else 1
            control.append(int(table.item[votes[0]]))
            labels.append(table.known[control[-1]])
            item[votes[:size]] = len(labels) - 1
            votes = votes[size:]
    return replace(table, item=item, known=np.array(labels)), np.array(control)


def _mean_and_error(gains: Floats, answer: Ints) -> tuple[float, float]:
    """Rows of one control are no independent draws."""
    mean = float(gains.mean())
    sums = np.bincount(answer, gains - mean)
    return mean, float(np.sqrt((sums**2).sum()) / len(gains))
