"""Groups against brute force: every arrangement of a few triplets is tried."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.packing.repack import (
    MOST_EXCLUDED,
    Group,
    OpenTriplet,
    Regrouped,
    regroup,
)
from annotation.protocol.policy.policy import Policy
from tests.annotation.protocol.steady import steady

policies = st.integers(1, 5).map(lambda real: Policy(hit_size=real + 2))
# Few enough to meet again: unions of ten and of eleven are both near.
people = st.integers(1, 14)
earlier = st.frozensets(people, max_size=4) | st.frozensets(people, min_size=5, max_size=11)
few_earlier = st.frozensets(st.integers(1, 40), max_size=2)


def campaigns(
    workers: st.SearchStrategy[frozenset[int]], *, most: int
) -> st.SearchStrategy[list[OpenTriplet]]:
    rows = st.lists(st.tuples(st.sampled_from("abcdefg"), workers), max_size=most)
    return rows.map(
        lambda made: [
            OpenTriplet(f"t{number:02d}", query, workers)
            for number, (query, workers) in enumerate(made)
        ]
    )


def union(triplets: Collection[OpenTriplet]) -> frozenset[int]:
    return frozenset().union(*(triplet.earlier for triplet in triplets))


def is_full_group(triplets: Sequence[OpenTriplet]) -> bool:
    different = len({triplet.query for triplet in triplets}) == len(triplets)
    return different and len(union(triplets)) <= MOST_EXCLUDED


def most_full_groups(triplets: Sequence[OpenTriplet], size: int) -> int:
    """The largest number of full groups, none sharing a triplet, of any arrangement."""
    found = [
        sum(1 << number for number in chosen)
        for chosen in itertools.combinations(range(len(triplets)), size)
        if is_full_group([triplets[number] for number in chosen])
    ]

    @cache
    def best(free: int) -> int:
        if not free:
            return 0
        lowest = free & -free
        uses = [group for group in found if group & lowest and group & free == group]
        return max([best(free ^ lowest), *(1 + best(free ^ group) for group in uses)])

    return best((1 << len(triplets)) - 1)


def everything(regrouped: Regrouped) -> list[OpenTriplet]:
    grouped = [triplet for group in regrouped.groups for triplet in group.triplets]
    return [*grouped, *regrouped.waiting, *regrouped.impossible]


@steady
@given(triplets=campaigns(earlier, most=30), policy=policies, flush=st.booleans())
def test_every_triplet_is_in_one_place_and_no_group_bars_too_many(
    triplets: list[OpenTriplet], policy: Policy, flush: bool
) -> None:
    regrouped = regroup(triplets, policy, flush=flush)
    assert Counter(everything(regrouped)) == Counter(triplets)
    for group in regrouped.groups:
        assert 1 <= len(group.triplets) <= policy.real_items
        assert set(group.excluded_workers) == union(group.triplets)
        assert len(group.excluded_workers) <= MOST_EXCLUDED
    assert all(len(triplet.earlier) > MOST_EXCLUDED for triplet in regrouped.impossible)
    assert not (flush and regrouped.waiting)


@steady
@given(triplets=campaigns(earlier, most=30), policy=policies)
def test_before_the_end_groups_are_full_and_of_different_queries(
    triplets: list[OpenTriplet], policy: Policy
) -> None:
    groups = regroup(triplets, policy, flush=False).groups
    assert all(len(group.triplets) == policy.real_items for group in groups)
    assert all(is_full_group(group.triplets) for group in groups)


@steady
@given(triplets=campaigns(earlier, most=16), policy=policies)
def test_no_full_group_is_left_waiting(triplets: list[OpenTriplet], policy: Policy) -> None:
    waiting = regroup(triplets, policy, flush=False).waiting
    chosen = itertools.combinations(waiting, policy.real_items)
    assert not any(is_full_group(group) for group in chosen)


@steady
@given(triplets=campaigns(earlier, most=11), policy=policies)
def test_full_groups_are_no_fewer_than_the_stated_share_of_any_arrangement_s(
    triplets: list[OpenTriplet], policy: Policy
) -> None:
    made = len(regroup(triplets, policy, flush=False).groups)
    possible = most_full_groups(triplets, policy.real_items)
    assert possible <= made * policy.real_items
    assert made <= possible


@steady
@given(triplets=campaigns(few_earlier, most=40), policy=policies)
def test_after_a_first_round_of_two_no_arrangement_has_more_full_groups(
    triplets: list[OpenTriplet], policy: Policy
) -> None:
    left = Counter(triplet.query for triplet in triplets)

    def possible(groups: int) -> bool:
        """A query is at most once in each; that is enough (Gale and Ryser)."""
        return sum(min(count, groups) for count in left.values()) >= groups * policy.real_items

    made = len(regroup(triplets, policy, flush=False).groups)
    assert made == max(filter(possible, range(len(triplets) + 1)))


@steady
@given(triplets=campaigns(few_earlier, most=10), policy=policies)
def test_the_bound_used_for_few_workers_is_what_brute_force_finds(
    triplets: list[OpenTriplet], policy: Policy
) -> None:
    made = len(regroup(triplets, policy, flush=False).groups)
    assert made == most_full_groups(triplets, policy.real_items)


@steady
@given(triplets=campaigns(earlier, most=20), policy=policies)
def test_in_the_end_no_hit_had_room_for_what_a_later_one_holds(
    triplets: list[OpenTriplet], policy: Policy
) -> None:
    groups = regroup(triplets, policy, flush=True).groups
    begun = [group for group in groups if len(group.triplets) < policy.real_items]
    for number, group in enumerate(begun):
        for later in begun[number + 1 :]:
            assert not any(_fits(triplet, group) for triplet in later.triplets)


def _fits(triplet: OpenTriplet, group: Group) -> bool:
    return len(union([*group.triplets, triplet])) <= MOST_EXCLUDED


@steady
@given(triplets=campaigns(earlier, most=20), policy=policies, flush=st.booleans(), data=st.data())
def test_the_order_in_which_they_are_given_does_not_matter(
    triplets: list[OpenTriplet], policy: Policy, flush: bool, data: st.DataObject
) -> None:
    turned = data.draw(st.permutations(triplets))
    assert regroup(turned, policy, flush=flush) == regroup(triplets, policy, flush=flush)
