"""One worker's agreement with all others, by hand and by counting."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.screening.peer_agreement import (
    Agreement,
    Compared,
    agrees,
    beside_peers,
    peer_agreement_of,
)

votes = st.lists(st.integers(0, 1), max_size=7)


@pytest.mark.parametrize(
    ("value", "others", "expected"),
    [
        (1, [], None),  # nobody else has judged it
        (1, [1], True),
        (0, [1], False),
        (0, [0], True),
        (1, [0, 1], None),  # the others are split
        (1, [1, 1], True),
        (0, [1, 1, 0], False),
        (0, [0, 0, 1], True),
    ],
)
def test_a_vote_agrees_with_the_strict_majority_of_the_others(
    value: int, others: list[int], expected: bool | None
) -> None:
    assert agrees(Compared(value, len(others), sum(others))) is expected


def test_the_vote_itself_is_left_out_where_it_counts() -> None:
    """Two votes, 1 and 0: the worker who said 1 stands against the 0 alone."""
    assert beside_peers(1, 2, 1, counts=True) == Compared(1, 1, 0)
    assert beside_peers(0, 2, 1, counts=True) == Compared(0, 1, 1)
    assert beside_peers(1, 2, 1, counts=False) == Compared(1, 2, 1)


def test_the_share_is_of_the_votes_that_can_be_compared() -> None:
    """By hand: 3 votes as one other, 2 against, 4 where nobody else has voted: 3 of 5."""
    found = peer_agreement_of(
        [Compared(1, 1, 1, times=3), Compared(0, 1, 1, times=2), Compared(0, 0, 0, times=4)]
    )
    assert found == Agreement(agreeing=3, compared=5)
    assert found.share == 0.6


def test_without_anybody_to_compare_with_there_is_no_share() -> None:
    assert peer_agreement_of([]).share is None
    assert peer_agreement_of([Compared(1, 2, 1)]).share is None


@given(st.integers(0, 1), votes)
def test_it_is_what_counting_hands_says(value: int, others: list[int]) -> None:
    same, other = others.count(value), others.count(1 - value)
    expected = None if same == other else same > other
    whole = [*others, value]
    assert agrees(beside_peers(value, len(whole), sum(whole), counts=True)) is expected
