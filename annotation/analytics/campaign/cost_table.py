"""A cost estimate in words: both ways of breaking ties side by side, and what is left out."""

from dataclasses import dataclass

from annotation.pipeline.ledger.reservations import first_round_cents
from annotation.protocol.estimates.cost import assignment_cents, estimate_cost, is_free
from annotation.protocol.labels.claims import asking_in_words
from annotation.protocol.policy.policy import Policy
from core.text.money import money

NOT_COUNTED = (
    "Not counted: the replacements of work that is rejected or discarded{}, and controls added to "
    "fill the last HIT."
)


@dataclass(frozen=True)
class Line:
    words: str
    per_hit: str
    assignments: str
    price: str
    chosen: bool = False


@dataclass(frozen=True)
class CostTable:
    hits: int
    triplets: int
    lines: tuple[Line, ...]
    unit: str  # what one assignment costs, in words
    is_free: bool
    reserve_cents: int  # by publishing all: the first round, and a place for each HIT's tie
    not_counted: str

    @property
    def reserve(self) -> str:
        return money(self.reserve_cents)


def cost_table(triplets: int, policy: Policy) -> CostTable:
    costs = estimate_cost(triplets, policy)
    modes = [
        Line(
            words,
            f"{cost.assignments_per_hit:.2f}",
            f"{cost.assignments:,}",
            money(cost.cents),
            policy.tie_mode == mode,
        )
        for mode, words, cost in (
            ("extend", "Ties: the whole HIT once more", costs.extend),
            ("repack", "Ties: the tied triplets in new HITs", costs.repack),
        )
    ]
    return CostTable(
        hits=costs.hits,
        triplets=triplets,
        lines=(
            _plain("The first round alone", policy.annotators, costs.hits, costs.cents_min),
            *modes,
            _plain("Every HIT needs all votes", policy.max_votes, costs.hits, costs.cents_max),
        ),
        unit=_unit(policy),
        is_free=is_free(policy),
        reserve_cents=costs.hits * first_round_cents(policy),
        not_counted=f"{NOT_COUNTED.format(_more(policy))} {asking_in_words(policy)}".strip(),
    )


def _more(policy: Policy) -> str:
    bonuses = "" if is_free(policy) else ", bonuses"
    unsure = ", votes on triplets that are not sure after the first round"
    return f"{bonuses}{unsure if policy.is_adaptive else ''}"


def _plain(words: str, per_hit: int, hits: int, cents: int) -> Line:
    return Line(words, f"{per_hit:.2f}", f"{hits * per_hit:,}", money(cents))


def _unit(policy: Policy) -> str:
    if is_free(policy):
        return ""
    whole = assignment_cents(policy)
    fee = whole - policy.reward_cents
    if not fee:
        return f"An assignment costs {money(whole)}, all of it the reward."
    return (
        f"An assignment costs {money(whole)}: {money(policy.reward_cents)} for the worker and "
        f"{money(fee)} for the crowd."
    )
