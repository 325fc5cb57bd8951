import numpy as np
import pytest
from scipy import stats

from retrieval.ranking.bootstrap import FLIPS, intervals, p_values

SYSTEMS = 400


def test_the_interval_holds_the_true_mean_about_95_times_in_100() -> None:
    random = np.random.RandomState(1)
    for values, truth in (
        (random.uniform(size=(200, SYSTEMS)), 0.5),
        ((random.uniform(size=(200, SYSTEMS)) < 0.3).astype(float), 0.3),
    ):
        low, high = intervals(values)
        assert 0.91 <= np.mean((low <= truth) & (truth <= high)) <= 0.985


def test_the_interval_is_the_one_of_the_normal_distribution_where_that_holds() -> None:
    values = np.random.RandomState(2).normal(3, 2, size=(5000, 1))
    low, high = intervals(values)
    error = 1.96 * values.std() / np.sqrt(5000)
    assert (low[0], high[0]) == pytest.approx(
        (values.mean() - error, values.mean() + error), abs=error / 8
    )


def test_one_query_has_an_interval_of_no_width() -> None:
    low, high = intervals(np.array([[0.25, 1.0]]))
    assert (low.tolist(), high.tolist()) == ([0.25, 1.0], [0.25, 1.0])


def test_the_same_values_have_the_same_interval_each_time() -> None:
    values = np.random.RandomState(3).uniform(size=(50, 2))
    assert np.array_equal(intervals(values), intervals(values))


def test_the_intervals_drawn_do_not_change_with_numpy() -> None:
    low, high = intervals(np.arange(10.0).reshape(10, 1))
    assert (low[0], high[0]) == pytest.approx((2.6, 6.2))


def test_systems_that_never_differ_have_p_1() -> None:
    assert p_values(np.zeros((40, 3))).tolist() == [1, 1, 1]


def test_systems_that_always_differ_have_the_smallest_p() -> None:
    assert p_values(np.full((40, 1), 0.1)).tolist() == [1 / (FLIPS + 1)]


def test_p_is_that_of_all_flips_of_the_signs() -> None:
    """scipy tries all 1024 flips of ten queries."""
    random = np.random.RandomState(4)
    for shift in (0.0, 0.2, 0.5, -0.5):
        differences = random.normal(shift, 0.5, size=(10, 1))
        exact = stats.permutation_test(
            (differences[:, 0], np.zeros(10)),
            lambda one, other: np.mean(one - other),
            permutation_type="samples",
            vectorized=False,
        )
        assert p_values(differences)[0] == pytest.approx(exact.pvalue, abs=0.02)


def test_of_systems_that_are_alike_1_in_20_has_a_p_below_5_percent() -> None:
    differences = np.random.RandomState(6).normal(size=(100, SYSTEMS))
    assert 0.025 <= np.mean(p_values(differences) < 0.05) <= 0.085


def test_the_order_of_two_systems_does_not_change_p() -> None:
    differences = np.random.RandomState(7).normal(0.1, size=(60, 1))
    assert p_values(differences) == p_values(-differences)
