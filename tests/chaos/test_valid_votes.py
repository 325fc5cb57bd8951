"""The audit's own count of votes: those of excluded workers are left out."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.annotation.protocol.steady import steady
from tests.chaos.verdict import valid_votes

JUDGMENTS = [
    ("ada", "t1", 1),
    ("eve", "t1", 0),
    ("bob", "t2", 0),
    ("ada", "t2", 1),
    ("bob", "t1", 1),
    ("eve", "t3", 1),
]


@pytest.mark.parametrize(
    ("excluded", "votes"),
    [
        ([], {"t1": [1, 0, 1], "t2": [0, 1], "t3": [1]}),
        (["eve"], {"t1": [1, 1], "t2": [0, 1]}),
        (["ada", "bob"], {"t1": [0], "t3": [1]}),
        (["ada", "bob", "eve"], {}),
        (["dan"], {"t1": [1, 0, 1], "t2": [0, 1], "t3": [1]}),
    ],
)
def test_exclusion_discards_a_workers_votes_in_order(
    excluded: list[str], votes: dict[str, list[int]]
) -> None:
    assert valid_votes(JUDGMENTS, excluded) == votes


def test_nobody_votes_twice_on_a_triplet() -> None:
    with pytest.raises(ValueError, match="worker ada judged triplet t1 twice"):
        valid_votes([*JUDGMENTS, ("ada", "t1", 1)], [])


def test_what_an_excluded_worker_did_twice_does_no_harm() -> None:
    twice = [*JUDGMENTS, ("eve", "t1", 1)]
    assert valid_votes(twice, ["eve"]) == valid_votes(JUDGMENTS, ["eve"])


@steady
@given(
    st.dictionaries(
        st.tuples(st.sampled_from("abcde"), st.integers(1, 6)), st.integers(0, 1), max_size=30
    ),
    st.sets(st.sampled_from("abcde")),
)
def test_exclusion_discards_all_and_only_the_excluded_workers_votes(
    given_by: dict[tuple[str, int], int], excluded: set[str]
) -> None:
    judgments = [(worker, triplet, value) for (worker, triplet), value in given_by.items()]
    left = Counter(
        (triplet, value) for worker, triplet, value in judgments if worker not in excluded
    )
    votes = valid_votes(judgments, excluded)
    found = Counter((triplet, value) for triplet, values in votes.items() for value in values)
    assert found == left
