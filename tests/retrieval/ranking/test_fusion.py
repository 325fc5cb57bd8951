"""Reciprocal rank fusion: a table worked out by hand, and what holds of any lists."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.ranking.fusion import fused, fused_score

DENSE = ["a", "b", "c", "d"]
BM25 = ["c", "e", "a", "f"]
# 1/61 + 1/63, 1/63 + 1/61: the same; then 1/62 twice, 1/64 twice.
TABLE = [
    ("a", {"dense": 1, "bm25": 3}),
    ("c", {"dense": 3, "bm25": 1}),
    ("b", {"dense": 2}),
    ("e", {"bm25": 2}),
    ("d", {"dense": 4}),
    ("f", {"bm25": 4}),
]

keys = st.lists(st.integers(0, 40), unique=True, max_size=30)
ranked_lists = st.dictionaries(st.sampled_from(["dense", "bm25", "third"]), keys, min_size=1)


@pytest.mark.parametrize("k", range(7))
def test_the_pool_is_the_one_worked_out_by_hand(k: int) -> None:
    pool = fused({"dense": DENSE, "bm25": BM25}, k)
    assert [(one.key, one.found_by) for one in pool] == TABLE[:k]


def test_a_pair_that_both_find_late_stands_before_one_that_one_finds_first() -> None:
    """1/68 + 1/68 is more than 1/61."""
    dense = [*"abcdefg", "both"]
    bm25 = [*"hijklmn", "both"]
    assert [one.key for one in fused({"dense": dense, "bm25": bm25}, 3)] == ["both", "a", "h"]


def test_one_list_alone_stays_as_it_is() -> None:
    assert [one.key for one in fused({"dense": ["z", "a", "m"]}, 3)] == ["z", "a", "m"]


@given(ranked_lists, st.integers(0, 100))
def test_a_pool_holds_each_key_once_with_its_ranks(
    ranked: Mapping[str, Sequence[int]], k: int
) -> None:
    pool = fused(ranked, k)
    found = [one.key for one in pool]
    everything = {key for keys in ranked.values() for key in keys}
    assert len(found) == len(set(found)) == min(k, len(everything))
    for one in pool:
        assert one.found_by == {
            name: keys.index(one.key) + 1 for name, keys in ranked.items() if one.key in keys
        }


@given(ranked_lists, st.integers(0, 100))
def test_no_key_outside_of_the_pool_has_a_higher_score(
    ranked: Mapping[str, Sequence[int]], k: int
) -> None:
    def score(key: int) -> tuple[Fraction, int]:
        ranks = [keys.index(key) + 1 for keys in ranked.values() if key in keys]
        return sum((Fraction(1, 60 + rank) for rank in ranks), Fraction()), -key

    everything = {key for keys in ranked.values() for key in keys}
    best = sorted(everything, key=score, reverse=True)
    assert [one.key for one in fused(ranked, k)] == best[:k]


@given(ranked_lists)
def test_the_order_in_which_retrievers_are_named_changes_nothing(
    ranked: Mapping[str, Sequence[int]],
) -> None:
    backwards = dict(reversed(ranked.items()))
    assert fused(ranked, 30) == fused(backwards, 30)


def test_a_score_does_not_depend_on_the_order_of_its_ranks() -> None:
    assert fused_score([1, 40, 7]) == fused_score([7, 1, 40]) == fused_score([40, 7, 1])
