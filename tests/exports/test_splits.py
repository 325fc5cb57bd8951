"""Sizes, completeness and reproducibility of the random split."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exports.splits import SPLITS, QueryRef, SplitError, split
from tests.annotation.protocol.steady import steady

PAPER = {"train": 0.77, "dev": 0.099, "test": 0.131}


def refs(complete: int, incomplete: int = 0) -> list[QueryRef]:
    return [QueryRef(f"q{n}", n < complete) for n in range(complete + incomplete)]


def sizes(splits: dict[str, list[str]]) -> tuple[int, ...]:
    return tuple(len(splits[name]) for name in SPLITS)


@pytest.mark.parametrize(
    ("queries", "wanted"),
    [
        (0, (0, 0, 0)),
        (1, (1, 0, 0)),
        (2, (2, 0, 0)),  # 1.54 / 0.198 / 0.262
        (3, (2, 0, 1)),  # 2.31 / 0.297 / 0.393
        (40, (31, 4, 5)),  # 30.8 / 3.96 / 5.24
        (1000, (770, 99, 131)),
        (15_211, (11_712, 1_506, 1_993)),  # 11712.47 / 1505.889 / 1992.641
    ],
)
def test_shares_become_whole_sizes_by_largest_remainder(
    queries: int, wanted: tuple[int, ...]
) -> None:
    assert sizes(split(refs(queries), **PAPER, seed=1)) == wanted


def test_the_papers_counts_are_met_exactly() -> None:
    splits = split(refs(15_211), train=11_711, dev=1_500, test=2_000, seed=1)
    assert sizes(splits) == (11_711, 1_500, 2_000)


def test_equal_remainders_go_to_the_split_named_first() -> None:
    assert sizes(split(refs(2), train=0.25, dev=0.25, test=0.5, seed=1)) == (1, 0, 1)


def test_shares_that_sum_to_almost_one_still_place_every_query() -> None:
    assert sizes(split(refs(1000), train=0.77, dev=0.099, test=0.1305, seed=1)) == (770, 99, 131)


def test_queries_beyond_the_counts_are_in_no_split() -> None:
    splits = split(refs(complete=6, incomplete=4), train=3, dev=2, test=1, seed=1)
    assert sizes(splits) == (3, 2, 1)


def test_an_incomplete_query_is_in_train_alone() -> None:
    splits = split(refs(complete=5, incomplete=5), train=0.5, dev=0.2, test=0.3, seed=3)
    assert {f"q{n}" for n in range(5, 10)} == set(splits["train"])


def test_too_few_complete_queries_are_refused_with_the_counts() -> None:
    with pytest.raises(SplitError) as refusal:
        split(refs(complete=4, incomplete=6), train=0.5, dev=0.2, test=0.3, seed=3)
    assert str(refusal.value) == (
        "dev and test want 5 queries (2 + 3) all of whose candidates have a label, "
        "but only 4 of 10 are complete"
    )


def test_more_queries_than_there_are_is_refused_with_the_counts() -> None:
    with pytest.raises(SplitError, match=r"the splits want 11 queries, but only 10 have labels"):
        split(refs(10), train=9, dev=1, test=1, seed=3)


def test_shares_and_counts_do_not_mix() -> None:
    with pytest.raises(SplitError, match="all shares or all whole counts"):
        split(refs(10), train=0.5, dev=2, test=0.3, seed=3)


def test_a_key_stands_for_one_query() -> None:
    with pytest.raises(SplitError, match="two queries have the same key"):
        split([QueryRef("q", True), QueryRef("q", False)], **PAPER, seed=3)


def test_another_seed_draws_other_queries() -> None:
    drawn = {tuple(split(refs(100), **PAPER, seed=seed)["test"]) for seed in range(20)}
    assert len(drawn) == 20


def test_every_query_comes_into_test_about_as_often_as_its_share_says() -> None:
    times = [0] * 20
    for seed in range(400):
        for key in split(refs(20), train=0.5, dev=0.25, test=0.25, seed=seed)["test"]:
            times[int(key[1:])] += 1
    assert min(times) > 60  # 100 expected, deviation 8.7
    assert max(times) < 140


@steady
@given(
    flags=st.lists(st.booleans(), max_size=60),
    held=st.tuples(st.integers(0, 20), st.integers(0, 20)),
    seed=st.integers(),
    order=st.randoms(use_true_random=False),
)
def test_a_split_is_disjoint_exact_and_independent_of_the_order(
    flags: list[bool], held: tuple[int, int], seed: int, order: random.Random
) -> None:
    queries = [QueryRef(f"q{n}", complete) for n, complete in enumerate(flags)]
    dev, test = (min(size, sum(flags) // 2) for size in held)
    train = len(queries) - dev - test
    splits = split(queries, train=train, dev=dev, test=test, seed=seed)
    order.shuffle(queries)
    assert split(queries, train=train, dev=dev, test=test, seed=seed) == splits
    assert sizes(splits) == (train, dev, test)
    placed = [key for keys in splits.values() for key in keys]
    assert sorted(placed) == sorted(query.key for query in queries)
    complete = {query.key for query in queries if query.complete}
    assert complete.issuperset(splits["dev"] + splits["test"])


@steady
@given(
    queries=st.integers(0, 500),
    weights=st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(1, 50)),
)
def test_a_share_is_met_to_less_than_one_query(queries: int, weights: tuple[int, ...]) -> None:
    train, dev, test = (round(weight / sum(weights), 6) for weight in weights)
    splits = split(refs(queries), train=train, dev=dev, test=test, seed=0)
    assert sum(sizes(splits)) == queries
    for size, share in zip(sizes(splits), (train, dev, test), strict=True):
        assert abs(size - share * queries / (train + dev + test)) < 1
