from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.labels.agreement import (
    Estimate,
    Figure,
    agreement,
    estimate,
    kappa,
    observed,
)
from tests.annotation.protocol.steady import steady

ROUNDING = 0.00006  # figures are told with four decimals


def pairs(*, yes: int = 0, no: int = 0, yes_no: int = 0, no_yes: int = 0) -> list[tuple[int, int]]:
    return [(1, 1)] * yes + [(0, 0)] * no + [(1, 0)] * yes_no + [(0, 1)] * no_yes


def table(*queries: list[tuple[int, int]]) -> np.ndarray:
    """A row for each query's pairs."""
    counts = [Counter(2 * first + second for first, second in pairs) for pairs in queries]
    return np.array([[count[cell] for cell in range(4)] for count in counts], dtype=np.int64)


def observed_agreement(votes: list[tuple[int, int]]) -> float | None:
    return _of_all(observed, votes)


def cohen_kappa(votes: list[tuple[int, int]]) -> float | None:
    return _of_all(kappa, votes)


def _of_all(figure: Figure, votes: list[tuple[int, int]]) -> float | None:
    found = float(figure(table(votes).sum(axis=0, dtype=float)[None, :])[0])
    return None if math.isnan(found) else found


@pytest.mark.parametrize(
    ("votes", "agreement", "by_hand"),
    [
        (pairs(), None, None),
        (pairs(yes=1), 1.0, None),  # one value alone: chance would agree as well
        (pairs(no=8), 1.0, None),
        (pairs(yes=1, no=1), 1.0, 1.0),
        (pairs(yes_no=1, no_yes=1), 0.0, -1.0),
        (pairs(yes_no=3), 0.0, 0.0),
        (pairs(yes=1, yes_no=1), 0.5, 0.0),
        # yes: 6 and 5 of 10, so chance is 0.6 * 0.5 + 0.4 * 0.5 = 0.5 and (0.7 - 0.5) / 0.5
        (pairs(yes=4, no=3, yes_no=2, no_yes=1), 0.7, 0.4),
        # 78 % agreement at 19 % positives: (0.78 - 0.6922) / (1 - 0.6922)
        (pairs(yes=8, no=70, yes_no=11, no_yes=11), 0.78, 0.0878 / 0.3078),
    ],
)
def test_agreement_and_kappa_are_those_worked_out_by_hand(
    votes: list[tuple[int, int]], agreement: float | None, by_hand: float | None
) -> None:
    assert observed_agreement(votes) == pytest.approx(agreement)
    assert cohen_kappa(votes) == pytest.approx(by_hand)


def test_nothing_is_divided_by_nothing() -> None:
    with np.errstate(all="raise"):
        assert agreement(table([])) is None
        assert np.isnan(kappa(table(pairs(yes=3)).astype(float)))


many_pairs = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=30)


@steady
@given(votes=many_pairs)
def test_kappa_is_its_definition(votes: list[tuple[int, int]]) -> None:
    count = len(votes)
    first = Fraction(sum(one for one, _ in votes), count)
    second = Fraction(sum(other for _, other in votes), count)
    chance = first * second + (1 - first) * (1 - second)
    if chance == 1:
        assert cohen_kappa(votes) is None
        return
    agreed = Fraction(sum(one == other for one, other in votes), count)
    assert observed_agreement(votes) == pytest.approx(float(agreed))
    assert cohen_kappa(votes) == pytest.approx(float((agreed - chance) / (1 - chance)))


@steady
@given(votes=many_pairs)
def test_it_does_not_matter_who_of_the_two_came_first(votes: list[tuple[int, int]]) -> None:
    swapped = [(second, first) for first, second in votes]
    assert observed_agreement(swapped) == observed_agreement(votes)
    assert cohen_kappa(swapped) == pytest.approx(cohen_kappa(votes))


def test_the_interval_is_that_of_whole_queries_drawn_again() -> None:
    """Against resamples of another generator, laid out pair by pair and counted from nothing."""
    draw = random.Random(3)
    queries = [
        [(vote, vote if draw.random() < 0.8 else 1 - vote) for vote in draw.choices((0, 1), k=9)]
        for _ in range(30)
    ]
    found = estimate(table(*queries), kappa)
    kappas = sorted(_kappa_of(draw.choices(queries, k=30)) for _ in range(2000))
    assert found.value == pytest.approx(_kappa_of(queries), abs=ROUNDING)
    assert found.low == pytest.approx(kappas[50], abs=0.03)
    assert found.high == pytest.approx(kappas[1949], abs=0.03)


def _kappa_of(queries: list[list[tuple[int, int]]]) -> float:
    votes = [pair for own in queries for pair in own]
    n = len(votes)
    yes = [sum(pair[turn] for pair in votes) / n for turn in (0, 1)]
    chance = yes[0] * yes[1] + (1 - yes[0]) * (1 - yes[1])
    return (sum(one == other for one, other in votes) / n - chance) / (1 - chance)


def test_a_single_query_tells_nothing_of_the_others() -> None:
    """Every resample is that query again."""
    assert estimate(table(pairs(yes=2, no=1, yes_no=1)), observed) == Estimate(0.75, 0.75, 0.75)


def test_without_votes_there_is_no_figure_and_no_interval() -> None:
    for figure in (observed, kappa):
        assert estimate(np.zeros((0, 4), dtype=np.int64), figure) == Estimate(None, None, None)
