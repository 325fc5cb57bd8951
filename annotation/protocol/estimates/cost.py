"""What a campaign will cost, with the crowd's fees."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from annotation.protocol.packing.pack import hits_needed
from annotation.protocol.policy.policy import Policy

PAPER_AGREEMENT = 0.78


@dataclass(frozen=True)
class ModeCost:
    """The expected cost of one way of breaking ties."""

    assignments_per_hit: float
    assignments: int
    cents: int


@dataclass(frozen=True)
class Costs:
    hits: int
    assignments_min: int
    extend: ModeCost
    repack: ModeCost
    cents_min: int
    cents_max: int


def estimate_cost(triplets: int, policy: Policy, agreement: float = PAPER_AGREEMENT) -> Costs:
    """The cost of judging `triplets`, if two annotators agree on a share `agreement` of them.

    `extend` and `repack` are expectations, rounded up; `cents_min` is the first round alone
    and `cents_max` every HIT extended to `max_votes`. Replacements for rejected or excluded
    work are left out of all of them, and so are controls that fill up a last HIT.
    """
    if triplets < 0 or not 0 <= agreement <= 1:
        raise ValueError(f"no cost estimate for {triplets} triplets at an agreement of {agreement}")
    hits = hits_needed(triplets, policy)
    agreed = Fraction(str(agreement))
    tied_hits = (1 - agreed**policy.real_items) * tie_assignments(policy)
    tied_share = (1 - agreed) * tie_assignments(policy)
    first_round = hits * policy.annotators
    price = assignment_cents(policy)
    return Costs(
        hits=hits,
        assignments_min=first_round,
        extend=_mode_cost(hits, policy, tied_hits, max_assignments=policy.annotators),
        repack=_mode_cost(hits, policy, tied_share, max_assignments=1),
        cents_min=first_round * price,
        cents_max=hits * policy.max_votes * price,
    )


def bonus_price_cents(cents: int, policy: Policy) -> int:
    """What a bonus of so many cents costs in all."""
    fee = policy.fee
    return cents + (fee.of_bonus(cents) if fee else 0)


def tie_assignments(policy: Policy) -> int:
    """Places that breaking the ties of one HIT's first round takes: one at most, in either mode."""
    # An odd number of votes of 0 or 1 is never tied.
    return int(policy.annotators % 2 == 0 and policy.max_votes > policy.annotators)


def _mode_cost(
    hits: int, policy: Policy, extra_per_hit: Fraction, *, max_assignments: int
) -> ModeCost:
    """The first round and its tie-breaks, which are bought on HITs of `max_assignments`."""
    first_round = hits * policy.annotators
    extra = math.ceil(hits * extra_per_hit)
    cents = first_round * assignment_cents(policy) + extra * assignment_cents(
        policy, max_assignments
    )
    return ModeCost(
        assignments_per_hit=float(policy.annotators + extra_per_hit),
        assignments=first_round + extra,
        cents=cents,
    )


def is_free(policy: Policy) -> bool:
    """No assignment costs anything: no money moves, save for a bonus."""
    return not assignment_cents(policy)


def assignment_cents(policy: Policy, max_assignments: int | None = None) -> int:
    """What one approved assignment costs in all, on a HIT of so many (else the first round's)."""
    fee, reward = policy.fee, policy.reward_cents
    if fee is None:
        return reward
    max_assignments = policy.annotators if max_assignments is None else max_assignments
    return reward + fee.of_assignment(reward, masters=policy.masters, assignments=max_assignments)
