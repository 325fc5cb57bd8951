"""What votes cost and how often their labels will be wrong, before they are bought.

A crowd is known by what it said of items that experts judged blindly: how often a vote is wrong,
for items of label 0 and of label 1, and how alike two votes on one item are. Votes on one item
hang together, for some items are hard for all: they are drawn from an urn (Polya's) that keeps what
was drawn. With this, the rule of labels is followed vote by vote, each outcome with its chance.
Where an aggregator makes the labels, all workers are taken to be alike and its claims to be true.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf

import numpy as np

from annotation.protocol.estimates.controls import Controls, Judged
from annotation.protocol.estimates.cost import assignment_cents
from annotation.protocol.labels.derivation import Evidence, derive_label
from annotation.protocol.labels.label_error import wilson_interval
from annotation.protocol.labels.majority import Label
from annotation.protocol.packing.pack import hits_needed
from annotation.protocol.policy.policy import Policy
from annotation.protocol.policy.presets import ADAPTIVE

MOST_ANNOTATORS = 7
CONFIDENCES = (0.8, 0.9, 0.95, 0.99)
MOST_ALIKE = 0.95
LARGEST_AUDIT = 20_000
DRAWS = 100  # of a bootstrap

Outcomes = Mapping[tuple[int, int | None], float]


@dataclass(frozen=True)
class Urn:
    """`error`: the chance that a vote is wrong; `alike`: the correlation of two on one item."""

    error: float
    alike: float

    def next_wrong(self, votes: int, wrong: int) -> float:
        """After so many votes."""
        size = 1 / self.alike - 1 if self.alike else inf
        return self.error if size == inf else (self.error * size + wrong) / (size + votes)

    def chance(self, votes: int, wrong: int) -> float:
        """Of so many wrong votes, in one order: it is the same in each."""
        chance = 1.0
        for drawn in range(votes):
            next_wrong = self.next_wrong(drawn, min(drawn, wrong))
            chance *= next_wrong if drawn < wrong else 1 - next_wrong
        return chance


@dataclass(frozen=True)
class Crowd:
    """`share`: of items whose label is 1; `urns`: of label 0 and of label 1; `failing`: the share
    of assignments that miss a control; `per_day`: assignments that one person submits."""

    share: float
    urns: tuple[Urn, Urn]
    failing: float
    per_day: float

    def posterior(self, votes: int, positive: int) -> float:
        """The chance of label 1 after these votes."""
        zero = (1 - self.share) * self.urns[0].chance(votes, positive)
        one = self.share * self.urns[1].chance(votes, votes - positive)
        return one / (zero + one)


@dataclass(frozen=True)
class Prediction:
    """`error`: of the labels."""

    policy: Policy
    error: float
    unresolved: float
    votes: float  # a triplet
    assignments: int  # that count
    cents: int  # with those that are paid and do not count
    days: float

    @property
    def control_answers(self) -> int:
        return self.assignments * sum(Controls.of(self.policy))

    @property
    def shown_error(self) -> float:
        return round(self.error, 3)

    def keeps_to(self, error: float) -> bool:
        return self.shown_error <= error


def crowd_of(judged: Mapping[Judged, float], *, failing: float = 0, per_day: float = 1) -> Crowd:
    """`judged`: how many there are. ValueError where no item of one label is known."""
    of_label = [{one: n for one, n in judged.items() if one.label == label} for label in (0, 1)]
    zeros, ones = (sum(each.values()) for each in of_label)
    return Crowd(ones / (zeros + ones), (_urn(of_label[0]), _urn(of_label[1])), failing, per_day)


def predict(triplets: int, policy: Policy, crowd: Crowd, *, people: int) -> Prediction:
    ended = _ended(policy, crowd)
    extra = _extra_of_hit(ended, policy)
    hits = hits_needed(triplets, policy)
    first, more = hits * policy.annotators, ceil(round(hits * extra, 6))
    at_once = policy.annotators if policy.tie_mode == "extend" else 1
    cents = first * assignment_cents(policy) + more * assignment_cents(policy, at_once)
    submitted = (first + more) / (1 - crowd.failing)
    paid = submitted if policy.on_failed_control == "pay_and_discard" else first + more
    return Prediction(
        policy,
        error=_error(ended),
        unresolved=_unresolved(ended),
        votes=sum(votes * chance for of in ended for (votes, _), chance in of.items()),
        assignments=first + more,
        cents=ceil(round(cents * paid / max(1, first + more), 6)),
        days=submitted / (people * crowd.per_day),
    )


def _ended(policy: Policy, crowd: Crowd) -> tuple[Outcomes, Outcomes]:
    """Of items of label 0 and of label 1, which together are all."""
    zeros, ones = (
        {end: weight * chance for end, chance in outcomes(policy, label, crowd).items()}
        for label, weight in ((0, 1 - crowd.share), (1, crowd.share))
    )
    return zeros, ones


def _unresolved(ended: Sequence[Outcomes]) -> float:
    return sum(chance for of in ended for (_, value), chance in of.items() if value is None)


def _error(ended: Sequence[Outcomes]) -> float:
    wrong = sum(
        chance
        for label, of in enumerate(ended)
        for (_, value), chance in of.items()
        if value == 1 - label
    )
    unresolved = _unresolved(ended)
    return wrong / (1 - unresolved) if unresolved < 1 else 0.0


def _extra_of_hit(ended: Sequence[Outcomes], policy: Policy) -> float:
    """Assignments beyond the first ones, by HIT: as many as its neediest triplet takes, or where
    triplets are packed again, as many as they take together."""
    at_most = [
        sum(chance for of in ended for (votes, _), chance in of.items() if votes <= most)
        for most in range(policy.annotators, policy.max_votes + 1)
    ]
    if policy.tie_mode == "extend":
        at_most = [chance**policy.real_items for chance in at_most]
    return sum(1 - chance for chance in at_most[:-1])


def outcomes(policy: Policy, label: int, crowd: Crowd) -> Outcomes:
    """(votes, label that they make) -> its chance, for an item of this label."""
    ended: defaultdict[tuple[int, int | None], float] = defaultdict(float)
    states = {0: 1.0}  # how many votes are wrong -> chance
    for votes in range(policy.max_votes + 1):
        going: defaultdict[int, float] = defaultdict(float)
        for wrong, chance in states.items():
            made = label_of(policy, crowd, votes, votes - wrong if label else wrong)
            if made.status != "open":
                ended[votes, made.value] += chance
                continue
            next_wrong = crowd.urns[label].next_wrong(votes, wrong)
            going[wrong + 1] += chance * next_wrong
            going[wrong] += chance * (1 - next_wrong)
        states = going
    return dict(ended)


def label_of(policy: Policy, crowd: Crowd, votes: int, positive: int) -> Label:
    """By the rule of production; the chance that it is right is the crowd's."""
    if policy.aggregation == "majority":
        return derive_label(Evidence(votes, positive), policy)
    chance = crowd.posterior(votes, positive)
    said = None if chance == 0.5 else int(chance > 0.5)
    is_sure = policy.is_adaptive and max(chance, 1 - chance) >= policy.wanted_confidence
    return derive_label(Evidence(votes, positive, said=said, is_sure=is_sure), policy)


def choices(
    triplets: int, policy: Policy, crowds: Mapping[Controls, Crowd], *, people: int, error: float
) -> list[Prediction]:
    """The policy as far as there are people for it; the cheapest first.

    Its majority of 1 to MOST_ANNOTATORS first votes, and one more where they may tie; and votes
    until the label is as sure as CONFIDENCES. Each with the cheapest controls that keep to this
    error, or else those with the fewest errors. `crowds`: what passes under these controls.
    """
    return sorted(
        (
            _best(
                [
                    predict(triplets, controls.within(one), crowd, people=people)
                    for controls, crowd in crowds.items()
                ],
                error,
            )
            for one in [*_majorities(policy, people), *_adaptive(policy, people)]
        ),
        key=_cost,
    )


def _best(made: Sequence[Prediction], error: float) -> Prediction:
    enough = [one for one in made if one.keeps_to(error)]
    if enough:
        return min(enough, key=_cost)
    return min(made, key=lambda one: (one.shown_error, *_cost(one)))


def _cost(made: Prediction) -> tuple[int, int]:
    return made.cents, made.assignments


def _majorities(policy: Policy, people: int) -> Iterator[Policy]:
    for annotators in range(1, MOST_ANNOTATORS + 1):
        most = annotators + (annotators % 2 == 0)
        if most <= people:
            yield replace(
                policy,
                annotators=annotators,
                max_votes=most,
                aggregation="majority",
                wanted_confidence=0.0,
                rank_prior=False,
                bought_first="least_sure",
            )


def _adaptive(policy: Policy, people: int) -> Iterator[Policy]:
    most = min(people, MOST_ANNOTATORS)
    for confidence in CONFIDENCES if most > 1 else ():
        values = {**ADAPTIVE.values, "max_votes": most, "wanted_confidence": confidence}
        yield replace(policy, **values)


def error_intervals(
    judged: Mapping[Judged, float], policies: Sequence[Policy]
) -> list[tuple[float, float]]:
    """Of each policy's predicted error, at 95 %: what other samples of as many items would say."""
    kinds, sizes = list(judged), np.array(list(judged.values()))
    items = round(sizes.sum())
    draws = np.random.default_rng(0).multinomial(items, sizes / sizes.sum(), size=DRAWS)
    crowds = []
    for draw in draws.tolist():
        drawn = {kind: n for kind, n in zip(kinds, draw, strict=True) if n}
        if {kind.label for kind in drawn} == {0, 1}:
            crowds.append(crowd_of(drawn))
    errors = [[_error(_ended(policy, crowd)) for crowd in crowds] for policy in policies]
    return [(low, high) for low, high in np.quantile(errors, [0.025, 0.975], axis=1).T.tolist()]


def audit_size(error: float, width: float) -> int:
    """Experts' labels for a 95 % interval of the error that is as wide as this."""
    for size in range(1, LARGEST_AUDIT):
        low, high = wilson_interval(round(error * size), size)
        if high - low <= width:
            return size
    return LARGEST_AUDIT


def _urn(judged: Mapping[Judged, float]) -> Urn:
    votes, wrong = (sum(one[at] * n for one, n in judged.items()) for at in (1, 2))
    if not votes:
        raise ValueError("there is no vote on an item of one of the labels")
    error = (wrong + 0.5) / (votes + 1)
    pairs = sum(n * one.votes * (one.votes - 1) for one, n in judged.items())
    if not pairs:
        return Urn(error, 0.0)
    both = sum(n * one.wrong * (one.wrong - 1) for one, n in judged.items()) / pairs
    alike = (both - error**2) / (error * (1 - error))
    return Urn(error, min(max(alike, 0.0), MOST_ALIKE))
