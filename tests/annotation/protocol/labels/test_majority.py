from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.labels.majority import Label, assignments_to_request, decide
from annotation.protocol.policy.policy import Policy
from tests.annotation.protocol.steady import steady

PAPER = Policy()
YES, NO = (Label(value, "labelled", 0, "majority") for value in (1, 0))
UNRESOLVED = Label(None, "unresolved", 0)


def still_open(wanted: int) -> Label:
    return Label(None, "open", wanted)


@pytest.mark.parametrize(
    ("votes", "label"),
    [
        ("", still_open(2)),
        ("1", still_open(1)),
        ("0", still_open(1)),
        ("11", YES),
        ("00", NO),
        ("10", still_open(1)),
        ("01", still_open(1)),
        ("101", YES),
        ("100", NO),
        ("110", YES),  # an extended HIT's third vote on an item that was agreed
        ("001", NO),
        ("1100", still_open(1)),  # and a fourth that undoes the agreement
        ("1110", YES),
        ("11000", NO),
        ("11001", YES),
        ("110010", UNRESOLVED),
        ("1100100", NO),
        ("000000", NO),
    ],
)
def test_a_label_is_the_strict_majority_of_all_votes(votes: str, label: Label) -> None:
    assert decide([int(vote) for vote in votes], PAPER) == label


@pytest.mark.parametrize(
    ("annotators", "max_votes", "votes", "label"),
    [
        (1, 5, "", still_open(1)),
        (1, 5, "1", YES),
        (2, 2, "10", UNRESOLVED),
        (2, 2, "11", YES),
        (2, 3, "10", still_open(1)),
        (2, 4, "1001", UNRESOLVED),
        (2, 4, "1011", YES),
        (3, 5, "", still_open(3)),
        (3, 5, "11", still_open(1)),  # agreed, but of three annotators only two have voted
        (3, 5, "110", YES),
        (4, 5, "0", still_open(3)),
        (4, 5, "0101", still_open(1)),
        (4, 4, "0101", UNRESOLVED),
    ],
)
def test_annotators_and_max_votes_come_from_the_policy(
    annotators: int, max_votes: int, votes: str, label: Label
) -> None:
    policy = Policy(annotators=annotators, max_votes=max_votes)
    assert decide([int(vote) for vote in votes], policy) == label


@pytest.mark.parametrize("votes", [[2], [1, 1, -1], [0, 5]])
def test_a_vote_other_than_0_or_1_is_refused(votes: list[int]) -> None:
    with pytest.raises(ValueError, match="a vote is 0 or 1"):
        decide(votes, PAPER)


@pytest.mark.parametrize(
    ("wanted", "outstanding", "places"),
    [
        ([], 0, 0),
        ([], 2, 0),
        ([0, 0, 0, 0, 0], 0, 0),
        ([0, 1, 0, 0, 1], 0, 1),  # one more assignment serves every tied item
        ([2, 2, 2, 2, 2], 2, 0),
        ([2, 2, 2, 2, 2], 1, 1),
        ([1, 2, 0, 0, 0], 0, 2),
        ([1, 0, 0, 0, 0], 1, 0),
        ([1, 0, 0, 0, 0], 3, 0),
    ],
)
def test_a_hit_gets_the_places_of_its_neediest_triplet_less_those_outstanding(
    wanted: list[int], outstanding: int, places: int
) -> None:
    assert assignments_to_request(wanted, outstanding) == places


policies = st.integers(1, 6).flatmap(
    lambda annotators: st.builds(
        Policy, annotators=st.just(annotators), max_votes=st.integers(annotators, 9)
    )
)


def by_counting(votes: list[int], policy: Policy) -> Label:
    counted = Counter(votes).most_common()
    if len(votes) < policy.annotators:
        return still_open(policy.annotators - len(votes))
    if counted[0][1] * 2 > len(votes):
        return YES if counted[0][0] else NO
    return still_open(1) if len(votes) < policy.max_votes else UNRESOLVED


@steady
@given(votes=st.lists(st.integers(0, 1), max_size=10), policy=policies)
def test_decisions_are_those_of_plain_counting(votes: list[int], policy: Policy) -> None:
    assert decide(votes, policy) == by_counting(votes, policy)


@steady
@given(votes=st.lists(st.integers(0, 1), max_size=10), policy=policies, data=st.data())
def test_the_order_of_the_votes_does_not_matter(
    votes: list[int], policy: Policy, data: st.DataObject
) -> None:
    assert decide(data.draw(st.permutations(votes)), policy) == decide(votes, policy)


@steady
@given(votes=st.lists(st.integers(0, 1), max_size=10), policy=policies)
def test_swapping_yes_and_no_swaps_the_label_alone(votes: list[int], policy: Policy) -> None:
    plain = decide(votes, policy)
    swapped = decide([1 - vote for vote in votes], policy)
    assert (swapped.status, swapped.wanted) == (plain.status, plain.wanted)
    assert swapped.value == (None if plain.value is None else 1 - plain.value)


@steady
@given(source=st.lists(st.integers(0, 1), min_size=9, max_size=9), policy=policies)
def test_buying_what_is_wanted_ends_within_max_votes(source: list[int], policy: Policy) -> None:
    votes: list[int] = []
    while (label := decide(votes, policy)).status == "open":
        assert label.wanted > 0
        votes = source[: len(votes) + label.wanted]
    assert policy.annotators <= len(votes) <= policy.max_votes
    assert label.wanted == 0
