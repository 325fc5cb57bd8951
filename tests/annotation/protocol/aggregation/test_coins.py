from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.aggregation.coins import blend, fit, one_coin, two_coin
from annotation.protocol.aggregation.majorities import majority
from annotation.protocol.aggregation.table import UNKNOWN
from tests.annotation.protocol.aggregation.crowd import accuracy, crowd, table

# Few who see a duplicate miss it; many see one where there is none.
BIASED = [(0.7, 0.95)] * 10
CARELESS = [(0.9, 0.9)] * 6 + [(0.5, 0.5)] * 4


def test_where_workers_are_known_it_is_bayes_rule() -> None:
    rates = np.array([(0.9, 0.6), (0.7, 0.8), (0.6, 0.95)])
    votes, _ = crowd(rates.tolist(), items=400, votes=2, controls=100, answers=4000)
    of_0, of_1 = rates.T
    says_0, says_1 = np.log((1 - of_1) / of_0), np.log(of_1 / (1 - of_0))
    assert fit(votes, coins=2).of == pytest.approx(np.stack([says_0, says_1], axis=1), abs=0.1)
    assert fit(votes, coins=2).prior == pytest.approx(0, abs=0.2)


def test_two_coins_learn_that_a_yes_says_less_than_a_no() -> None:
    votes, labels = crowd(BIASED, items=600, votes=3, controls=60, answers=60, ones=0.2)
    by = {
        name: accuracy(name(votes).shares(votes), labels, 600)
        for name in (majority, one_coin, two_coin)
    }
    assert by[two_coin] > by[majority] + 0.05
    assert by[two_coin] > by[one_coin]


def test_careless_workers_are_outvoted_by_one_good_one() -> None:
    votes, labels = crowd(CARELESS, items=600, votes=3, controls=60, answers=60)
    for aggregate in (one_coin, two_coin):
        by, plain = (one(votes).shares(votes) for one in (aggregate, majority))
        assert accuracy(by, labels, 600) > accuracy(plain, labels, 600) + 0.02


def test_two_votes_an_item_never_run_to_one_label_alone() -> None:
    """Without a hold the share of 1 does so, and takes every tie with it."""
    for seed in range(5):
        votes, _ = crowd([(0.75, 0.75)] * 40, items=300, votes=2, ones=0.4, seed=seed)
        for aggregate in (one_coin, two_coin):
            assert 0.15 < (aggregate(votes).shares(votes) > 0.5).mean() < 0.75


def test_a_blend_lies_between_its_models() -> None:
    votes, _ = crowd(BIASED, items=200, votes=3, controls=20, answers=20)
    one, two = one_coin(votes), two_coin(votes)
    mixed = blend(votes, 0.25)
    assert mixed.of == pytest.approx(0.75 * one.of + 0.25 * two.of)
    assert mixed.prior == pytest.approx(0.75 * one.prior + 0.25 * two.prior)


rows = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(0, 1)), min_size=1, max_size=40
)
labels_known = st.lists(st.sampled_from([UNKNOWN, UNKNOWN, 0, 1]), min_size=6, max_size=6)


@given(rows, labels_known, st.randoms(use_true_random=False))
def test_the_order_of_votes_and_the_numbers_of_workers_say_nothing(
    votes: list[tuple[int, int, int]], known: list[int], random: object
) -> None:
    plain = replace(table(votes, known), workers=5)
    mixed = list(votes)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    other = replace(table([(i, 4 - w, v) for i, w, v in mixed], known), workers=5)
    for aggregate in (one_coin, two_coin):
        expected = aggregate(plain).shares(plain)
        assert aggregate(other).shares(other) == pytest.approx(expected, abs=1e-3, nan_ok=True)


@given(rows, labels_known)
def test_both_labels_are_treated_alike(votes: list[tuple[int, int, int]], known: list[int]) -> None:
    plain = table(votes, known)
    swapped = table(
        [(item, worker, 1 - vote) for item, worker, vote in votes],
        [label if label == UNKNOWN else 1 - label for label in known],
    )
    for aggregate in (one_coin, two_coin, majority):
        expected = 1 - aggregate(plain).shares(plain)
        assert aggregate(swapped).shares(swapped) == pytest.approx(expected, abs=1e-3, nan_ok=True)
