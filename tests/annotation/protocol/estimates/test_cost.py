from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.estimates.cost import (
    Costs,
    ModeCost,
    bonus_price_cents,
    estimate_cost,
    is_free,
)
from annotation.protocol.policy.crowds import INHOUSE, MTURK, PROLIFIC
from annotation.protocol.policy.policy import Policy
from tests.annotation.protocol.steady import steady

OLDER = {"crowd": PROLIFIC.kind, **PROLIFIC.fixed}


@pytest.mark.parametrize(
    ("reward", "masters", "assignments", "fee"),
    [
        (15, True, 2, 4),  # 3 + 0.75: an assignment costs 19 cents
        (15, False, 2, 3),
        (15, True, 9, 4),
        (15, True, 10, 7),  # 3 + 0.75 + 3
        (15, False, 10, 6),
        (15, True, 100, 7),
        (10, True, 1, 3),  # 2 + 0.5
        (50, True, 1, 13),  # 10 + 2.5: half up, not to the even cent
        (90, True, 1, 23),  # 18 + 4.5
        (49, True, 1, 12),  # 9.8 + 2.45
        (12, False, 1, 2),  # 2.4
        (13, False, 1, 3),  # 2.6
        (1, False, 1, 1),  # 0.2, but at least a cent
        (2, True, 1, 2),  # 0.4 and 0.1, each at least a cent
        (1, True, 10, 3),
        (100, False, 10, 40),
        (100, True, 10, 45),
    ],
)
def test_the_fee_of_an_assignment_is_the_crowds_to_the_cent(
    reward: int, masters: bool, assignments: int, fee: int
) -> None:
    assert MTURK.fee
    assert MTURK.fee.of_assignment(reward, masters=masters, assignments=assignments) == fee


def test_an_estimate_of_a_hundred_triplets() -> None:
    # 0.78 ** 5 = 0.2887174368; 20 HITs: 14.2 and 4.4 assignments more than 40, of 19 cents
    assert estimate_cost(100, Policy()) == Costs(
        hits=20,
        assignments_min=40,
        extend=ModeCost(assignments_per_hit=2.7112825632, assignments=55, cents=1045),
        repack=ModeCost(assignments_per_hit=2.22, assignments=45, cents=855),
        cents_min=760,
        cents_max=1900,
    )


def test_the_papers_campaign_costs_35_thousand_dollars_before_any_tie() -> None:
    cost = estimate_cost(15_211 * 30, Policy())
    assert (cost.hits, cost.assignments_min, cost.cents_min) == (91_266, 182_532, 3_468_108)


def test_nothing_costs_nothing() -> None:
    cost = estimate_cost(0, Policy())
    assert (cost.hits, cost.assignments_min, cost.cents_min, cost.cents_max) == (0, 0, 0, 0)
    assert (cost.extend.cents, cost.repack.cents) == (0, 0)


@pytest.mark.parametrize(("triplets", "hits"), [(1, 1), (5, 1), (6, 2), (10, 2), (11, 3)])
def test_a_begun_hit_is_paid_in_full(triplets: int, hits: int) -> None:
    cost = estimate_cost(triplets, Policy())
    assert (cost.hits, cost.cents_min, cost.cents_max) == (hits, hits * 38, hits * 95)


@pytest.mark.parametrize(
    ("agreement", "extend", "repack"),
    # 10 HITs; 0.7 ** 5 = 0.16807; ten times 1 - 0.7 is 3.0000000000000004 in floats
    [(1.0, 20, 20), (0.0, 30, 30), (0.7, 29, 23), (0.9, 25, 21)],
)
def test_tie_breaks_follow_the_agreement(agreement: float, extend: int, repack: int) -> None:
    cost = estimate_cost(50, Policy(), agreement)
    assert (cost.extend.assignments, cost.repack.assignments) == (extend, repack)


@pytest.mark.parametrize(("annotators", "max_votes"), [(1, 5), (2, 2), (3, 5)])
def test_where_no_tie_can_be_broken_the_first_round_is_all(annotators: int, max_votes: int) -> None:
    cost = estimate_cost(50, Policy(annotators=annotators, max_votes=max_votes))
    first_round = ModeCost(float(annotators), 10 * annotators, 190 * annotators)
    assert cost.extend == cost.repack == first_round
    assert cost.cents_max == 190 * max_votes


def test_ten_annotators_pay_the_higher_fee_but_their_repacks_do_not() -> None:
    cost = estimate_cost(5, Policy(annotators=10, max_votes=12))
    assert (cost.cents_min, cost.cents_max) == (220, 264)
    assert (cost.extend.cents, cost.repack.cents) == (242, 239)


@pytest.mark.parametrize(
    ("values", "price"),
    [({}, 143), ({"fee_permille": 333}, 133), ({"fee_permille": 333, "vat_permille": 200}, 140)],
)
def test_at_prolific_a_university_pays_less_than_a_company_and_vat_is_on_the_fee_alone(
    values: dict[str, int], price: int
) -> None:
    """A policy from before the fee was one of its fields is a company's."""
    policy = Policy.from_dict({"reward_cents": 100, **OLDER, **values})
    assert estimate_cost(5, policy).cents_min == 2 * price
    assert bonus_price_cents(100, policy) == price


def test_one_s_own_people_cost_their_reward_and_no_fee() -> None:
    # The estimate for a hundred triplets above, at 15 cents an assignment instead of 19.
    policy = Policy.from_dict({**INHOUSE.defaults(), "reward_cents": 15})
    cost = estimate_cost(100, policy)
    assert (cost.cents_min, cost.cents_max) == (600, 1500)
    assert (cost.extend.cents, cost.repack.cents) == (55 * 15, 45 * 15)
    crowded = Policy.from_dict({**policy.to_dict(), "annotators": 10, "max_votes": 12})
    assert (estimate_cost(5, crowded).cents_min, estimate_cost(5, crowded).cents_max) == (150, 180)


def test_where_nobody_is_paid_an_estimate_counts_assignments_alone() -> None:
    cost = estimate_cost(100, Policy.from_dict(INHOUSE.defaults()))
    assert (cost.assignments_min, cost.extend.assignments) == (40, 55)
    assert (cost.cents_min, cost.cents_max, cost.extend.cents, cost.repack.cents) == (
        0,
        0,
        0,
        0,
    )
    assert is_free(Policy.from_dict(INHOUSE.defaults()))
    assert not is_free(Policy.from_dict({**INHOUSE.defaults(), "reward_cents": 1}))


@pytest.mark.parametrize(
    ("cents", "mturk"), [(1, 2), (10, 12), (12, 14), (13, 16), (100, 120), (105, 126)]
)
def test_a_bonus_costs_a_fee_at_mturk_and_none_in_house(cents: int, mturk: int) -> None:
    assert bonus_price_cents(cents, Policy()) == mturk
    assert bonus_price_cents(cents, Policy.from_dict(INHOUSE.defaults())) == cents


@pytest.mark.parametrize(("triplets", "agreement"), [(-1, 0.78), (10, 1.01), (10, -0.01)])
def test_an_impossible_estimate_is_refused(triplets: int, agreement: float) -> None:
    with pytest.raises(ValueError, match="no cost estimate for"):
        estimate_cost(triplets, Policy(), agreement)


@steady
@given(
    triplets=st.integers(0, 10_000),
    agreement=st.floats(0, 1),
    reward=st.integers(1, 500),
    masters=st.booleans(),
)
def test_repacking_is_never_dearer_and_both_lie_between_the_bounds(
    triplets: int, agreement: float, reward: int, masters: bool
) -> None:
    policy = Policy(reward_cents=reward, masters=masters)
    cost = estimate_cost(triplets, policy, agreement)
    assert cost.cents_min <= cost.repack.cents <= cost.extend.cents <= cost.cents_max
    assert cost.cents_min > cost.assignments_min * reward or not triplets
