"""What votes cost and how often their labels will be wrong, before they are bought.

A crowd is known by what it said of items that experts judged blindly: how often a vote is wrong,
for items of label 0 and of label 1, and how alike two votes on one item are. Votes on one item
hang together, for some items are hard for all: they are drawn from an urn (Polya's) that keeps what
was drawn. With this, the rule of labels is followed vote by vote, each outcome with its chance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import NamedTuple

from annotation.protocol.estimates.cost import estimate_cost
from annotation.protocol.labels.label_error import wilson_interval
from annotation.protocol.labels.majority import decide_tally
from annotation.protocol.policy.policy import Policy

MOST_ANNOTATORS = 7
MOST_ALIKE = 0.95
LARGEST_AUDIT = 20_000


class Judged(NamedTuple):
    """An item's first votes, and what experts say that it is."""

    label: int
    votes: int
    wrong: int


@dataclass(frozen=True)
class Urn:
    """`error`: the chance that a vote is wrong; `alike`: the correlation of two on one item."""

    error: float
    alike: float

    def next_wrong(self, votes: int, wrong: int) -> float:
        """After so many votes."""
        size = 1 / self.alike - 1 if self.alike else inf
        return self.error if size == inf else (self.error * size + wrong) / (size + votes)


@dataclass(frozen=True)
class Crowd:
    """`share`: of items whose label is 1; `urns`: of label 0 and of label 1; `failing`: the share
    of assignments that miss a control; `per_day`: assignments that one person submits."""

    share: float
    urns: tuple[Urn, Urn]
    failing: float
    per_day: float


@dataclass(frozen=True)
class Prediction:
    """`error`: of the labels; `tied`: the share of items that need more than the first votes."""

    policy: Policy
    error: float
    unresolved: float
    tied: float
    assignments: int  # that count
    cents: int  # with those that are paid and do not count
    days: float


def crowd_of(judged: Iterable[Judged], *, failing: float, per_day: float) -> Crowd:
    """ValueError where no item of one label is known."""
    by_label: Mapping[int, list[Judged]] = {0: [], 1: []}
    for one in judged:
        by_label[one.label].append(one)
    zeros, ones = (len(by_label[label]) for label in (0, 1))
    return Crowd(ones / (zeros + ones), (_urn(by_label[0]), _urn(by_label[1])), failing, per_day)


def predict(triplets: int, policy: Policy, crowd: Crowd, *, people: int) -> Prediction:
    error = unresolved = tied = 0.0
    for label, weight in ((0, 1 - crowd.share), (1, crowd.share)):
        for (votes, value), chance in outcomes(policy, label, crowd.urns[label]).items():
            unresolved += weight * chance * (value is None)
            error += weight * chance * (value == 1 - label)
            tied += weight * chance * (votes > policy.annotators)
    costs = estimate_cost(triplets, policy, round(1 - tied, 6))
    mode = costs.repack if policy.tie_mode == "repack" else costs.extend
    submitted = mode.assignments / (1 - crowd.failing)
    paid = submitted if policy.on_failed_control == "pay_and_discard" else mode.assignments
    return Prediction(
        policy,
        error=error / (1 - unresolved) if unresolved < 1 else 0.0,
        unresolved=unresolved,
        tied=tied,
        assignments=mode.assignments,
        cents=ceil(mode.cents * paid / max(1, mode.assignments)),
        days=submitted / (people * crowd.per_day),
    )


def outcomes(policy: Policy, label: int, urn: Urn) -> dict[tuple[int, int | None], float]:
    """(votes, label that they make) -> its chance, for an item of this label."""
    ended: defaultdict[tuple[int, int | None], float] = defaultdict(float)
    states = {0: 1.0}  # how many votes are wrong -> chance
    for votes in range(policy.max_votes + 1):
        going: defaultdict[int, float] = defaultdict(float)
        for wrong, chance in states.items():
            made = decide_tally(votes, votes - wrong if label else wrong, policy)
            if made.status != "open":
                ended[votes, made.value] += chance
                continue
            next_wrong = urn.next_wrong(votes, wrong)
            going[wrong + 1] += chance * next_wrong
            going[wrong] += chance * (1 - next_wrong)
        states = going
    return dict(ended)


def choices(triplets: int, policy: Policy, crowd: Crowd, *, people: int) -> list[Prediction]:
    """The policy with 1 to MOST_ANNOTATORS first votes, and one more where they may tie, as far as
    there are people for it; the cheapest first."""
    made = []
    for annotators in range(1, MOST_ANNOTATORS + 1):
        most = annotators + (annotators % 2 == 0)
        if most <= people:
            asked = replace(policy, annotators=annotators, max_votes=most)
            made.append(predict(triplets, asked, crowd, people=people))
    return sorted(made, key=lambda one: one.cents)


def audit_size(error: float, width: float) -> int:
    """Experts' labels for a 95 % interval of the error that is as wide as this."""
    for size in range(1, LARGEST_AUDIT):
        low, high = wilson_interval(round(error * size), size)
        if high - low <= width:
            return size
    return LARGEST_AUDIT


def _urn(judged: list[Judged]) -> Urn:
    votes, wrong = (sum(one[at] for one in judged) for at in (1, 2))
    if not votes:
        raise ValueError("there is no vote on an item of one of the labels")
    error = (wrong + 0.5) / (votes + 1)
    pairs = sum(one.votes * (one.votes - 1) for one in judged)
    if not pairs:
        return Urn(error, 0.0)
    both = sum(one.wrong * (one.wrong - 1) for one in judged) / pairs
    alike = (both - error**2) / (error * (1 - error))
    return Urn(error, min(max(alike, 0.0), MOST_ALIKE))
