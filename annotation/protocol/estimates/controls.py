"""Which of a crowd's work would pass under fewer controls than it answered.

A HIT's controls of one kind are alike, so fewer of them are any of them: it is counted, not
modelled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from math import comb, prod
from typing import NamedTuple

from annotation.protocol.policy.policy import Policy


class Controls(NamedTuple):
    """Of a HIT."""

    positive: int
    negative: int

    @classmethod
    def of(cls, policy: Policy) -> Controls:
        return cls(policy.positive_controls, policy.negative_controls)

    def within(self, policy: Policy) -> Policy:
        """HITs of the same length, with these controls."""
        return replace(policy, positive_controls=self.positive, negative_controls=self.negative)

    @property
    def guessed(self) -> float:
        """The share of HITs that pass where somebody guesses."""
        return 0.5 ** sum(self)


class Judged(NamedTuple):
    """An item's first votes, and what experts say that it is."""

    label: int
    votes: int
    wrong: int


def offered(asked: Controls, policy: Policy) -> list[Controls]:
    """The policy's own, and those of which the answers to `asked` say what passes.

    Whoever guesses has to fail more than the policy allows, or nobody is excluded for it.
    """
    own = Controls.of(policy)
    fewer = (Controls(*counts) for counts in product(*(range(1, most + 1) for most in asked)))
    return [own] + [
        one
        for one in fewer
        if one != own
        and sum(one) < policy.hit_size
        and (sum(one) >= sum(own) or 1 - one.guessed > policy.max_failure_rate)
    ]


def passing(right: Controls, asked: Controls, kept: Controls) -> float:
    """The chance that work passes, which has so many right, if any of its controls are kept."""
    return prod(
        comb(good, few) / comb(most, few)
        for good, most, few in zip(right, asked, map(min, asked, kept), strict=True)
    )


def first_votes(
    label: int, votes: Iterable[tuple[bool, float]], most: int
) -> Mapping[Judged, float]:
    """An item's first votes that count, each with its chance.

    `votes`: in order, whether each is wrong, and the chance that it counts.
    """
    states = {Judged(label, 0, 0): 1.0}
    for wrong, counts in votes:
        after: defaultdict[Judged, float] = defaultdict(float)
        for state, chance in states.items():
            taken = chance * counts if state.votes < most else 0.0
            after[state] += chance - taken
            after[Judged(label, state.votes + 1, state.wrong + wrong)] += taken
        states = after
    return {state: chance for state, chance in states.items() if state.votes and chance}
