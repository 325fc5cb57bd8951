"""What deeper ranks hide, by hand and by rules."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.studies.pool_depth import Labels, hidden

judged_queries = st.lists(
    st.lists(st.sampled_from([0, 1, None]), min_size=6, max_size=6), min_size=1, max_size=8
)


def test_the_figures_are_those_worked_out_by_hand() -> None:
    queries: list[Labels] = [
        [1, 1, 0, 1],  # one of its three is hidden
        [0, 0, 1, 1],  # only found below
        [0, None, 0, 0],  # none at all
        [1, 0, None, 0],
    ]
    found = hidden(queries, first=2)
    assert found.queries == 4
    assert (found.positives_at_first, found.positives_at_next) == ([2, 1], [1, 2])
    assert (found.positives_per_query_first, found.positives_per_query_next) == (0.75, 0.75)
    assert found.hidden_share == 0.5
    assert (found.answerless_first, found.answerless_with_one_next) == (2, 1)
    assert found.without_a_label == 2


def test_without_a_positive_no_share_is_hidden() -> None:
    found = hidden([[0, 0], [0, None]], first=1)
    assert (found.hidden_share, found.hidden_share_interval) == (None, None)


def test_queries_that_are_all_alike_leave_no_doubt() -> None:
    found = hidden([[1, 1]] * 20, first=1)
    assert (found.hidden_share, found.hidden_share_interval) == (0.5, (0.5, 0.5))


@pytest.mark.parametrize(
    ("labels", "share", "interval"),
    [
        # Of 20 draws none, where it is 0.1684 of all: a chance of 2.5 %, 0.8316 ** 20.
        ([1, 0], 0.0, (0.0, 0.1684)),
        ([0, 1], 1.0, (0.8316, 1.0)),
    ],
)
def test_a_sample_that_hides_nothing_or_all_leaves_a_doubt(
    labels: list[int | None], share: float, interval: tuple[float, float]
) -> None:
    without: list[Labels] = [[0, None]] * 5  # say nothing
    found = hidden([labels] * 20 + without, first=1)
    assert (found.hidden_share, found.hidden_share_interval) == (share, interval)


def test_positives_of_one_query_are_one_draw() -> None:
    assert hidden([[1, 1, 1, 0]], first=3).hidden_share_interval == (0.0, 0.975)


def test_the_interval_of_three_queries_is_that_of_all_their_resamples() -> None:
    """27 resamples, equally likely: 5 % of them are cut off, 2.5 % at either end."""
    queries: list[Labels] = [[1, 1, 1], [1, 0, 1], [1, 1, 0]]
    before, after = np.array([2, 1, 2]), np.array([1, 1, 0])
    shares = sorted(
        after[list(drawn)].sum() / (before + after)[list(drawn)].sum()
        for drawn in product(range(3), repeat=3)
    )
    low, high = hidden(queries, first=2).hidden_share_interval or (None, None)
    assert low == round(shares[0], 4)  # one of 27 is 3.7 %: more than is cut off
    assert high == round(shares[-1], 4)


@given(judged_queries, st.integers(1, 5))
def test_nothing_is_lost_between_the_two_blocks(queries: list[Labels], first: int) -> None:
    found = hidden(queries, first=first)
    positives = sum(label == 1 for labels in queries for label in labels)
    assert sum(found.positives_at_first) + sum(found.positives_at_next) == positives
    assert len(found.positives_at_first) == first
    assert found.answerless_with_one_next <= found.answerless_first <= found.queries
    if found.hidden_share is not None and found.hidden_share_interval is not None:
        low, high = found.hidden_share_interval
        assert 0 <= low <= high <= 1
        assert found.hidden_share == round(sum(found.positives_at_next) / positives, 4)


@given(judged_queries)
def test_every_share_is_the_same_whatever_order_the_queries_stand_in(
    queries: list[Labels],
) -> None:
    found, backwards = hidden(queries, first=3), hidden(queries[::-1], first=3)
    assert found.hidden_share == backwards.hidden_share
    assert found.positives_at_next == backwards.positives_at_next
