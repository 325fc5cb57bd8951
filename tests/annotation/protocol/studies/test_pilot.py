"""How often both conditions of a pilot err, and how sure their difference is."""

from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.studies.pilot import Comparison, Pair, compare, difference_interval

COUNTS = st.integers(0, 60)


def pairs_of(both: int, hidden: int, shown: int, neither: int) -> list[Pair]:
    """Wrong in both conditions, in one alone, in none; half of them are positive."""
    cases = [(1, 1)] * both + [(0, 1)] * hidden + [(1, 0)] * shown + [(0, 0)] * neither
    return [
        Pair(number % 2, number % 2 ^ one, number % 2 ^ other)
        for number, (one, other) in enumerate(cases)
    ]


def compared(*counts: int) -> Comparison:
    found = compare(pairs_of(*counts))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        # Newcombe, Statistics in Medicine 17 (1998) 2635, table III, method 10
        ((36, 12, 2, 0), 0.0569, 0.3404),
        ((20, 12, 2, 16), 0.0562, 0.3292),
        ((53, 1, 0, 0), -0.0496, 0.0977),
        ((54, 0, 0, 0), -0.0664, 0.0664),
        # without a pair that differs the phi coefficient is held back by the correction alone:
        # both bounds are Wilson's halves, put together
        ((0, 0, 0, 10), -0.2775, 0.2775),
    ],
)
def test_the_interval_is_the_published_one(
    counts: tuple[int, int, int, int], low: float, high: float
) -> None:
    assert difference_interval(*counts) == (
        pytest.approx(low, abs=6e-5),
        pytest.approx(high, abs=6e-5),
    )


def test_the_figures_are_those_worked_out_by_hand() -> None:
    """Of 200: 9 wrong in both, 3 with the answer alone, 13 without it alone."""
    found = compared(9, 13, 3, 175)
    assert (found.triplets, found.neither_wrong) == (200, 175)
    assert (found.both_wrong, found.shown_alone_wrong, found.hidden_alone_wrong) == (9, 3, 13)
    assert (found.shown.wrong, found.hidden.wrong) == (12, 22)
    assert (found.shown.share, found.hidden.share) == (0.06, 0.11)
    assert found.difference == pytest.approx(0.05)
    assert found.relative == pytest.approx(10 / 22)  # 45 % of the errors are gone
    assert found.accuracy == pytest.approx(0.94)
    assert found.low > 0


def test_without_anything_to_compare_there_is_nothing() -> None:
    assert compare([]) is None
    assert compared(0, 0, 4, 6).relative is None


def test_the_arms_may_be_swapped() -> None:
    one, other = compared(5, 14, 4, 77), compared(5, 4, 14, 77)
    assert (one.difference, one.low, one.high) == pytest.approx(
        (-other.difference, -other.high, -other.low)
    )


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_the_interval_holds_the_difference_and_stays_within_bounds(
    both: int, hidden: int, shown: int, neither: int
) -> None:
    if not (total := both + hidden + shown + neither):
        return
    found = compared(both, hidden, shown, neither)
    assert -1 <= found.low <= found.difference + 1e-12
    assert found.difference - 1e-12 <= found.high <= 1
    assert found.difference == pytest.approx((hidden - shown) / total)
    assert found.hidden.share - found.shown.share == pytest.approx(found.difference)


@pytest.mark.parametrize("counts", [(9, 13, 3, 175), (20, 30, 15, 135), (2, 8, 8, 182)])
def test_resampled_pairs_spread_as_wide(counts: tuple[int, int, int, int]) -> None:
    """Another way to the same interval, which holds for many pairs."""
    signs = np.repeat([0, 1, -1, 0], counts)
    random = np.random.RandomState(20)
    drawn = signs[random.randint(0, len(signs), (4000, len(signs)))].mean(axis=1)
    assert difference_interval(*counts) == pytest.approx(
        tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.012
    )


def test_the_true_difference_lies_within_as_often_as_said() -> None:
    """Of 400 pilots of 200 triplets whose conditions err at known rates."""
    random, held, pilots = Random(7), 0, 400
    chances = {(1, 1): 0.04, (0, 1): 0.07, (1, 0): 0.02, (0, 0): 0.87}
    for _ in range(pilots):
        drawn = random.choices(list(chances), list(chances.values()), k=200)
        counts = [drawn.count(case) for case in product((1, 0), repeat=2)]
        both, shown, hidden, neither = counts
        low, high = difference_interval(both, hidden, shown, neither)
        held += low <= 0.05 <= high
    assert held / pilots > 0.92
