from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.agreement import observed_agreement
from annotation.protocol.kappa import cohen_kappa
from tests.annotation.protocol.steady import steady


def pairs(*, yes: int = 0, no: int = 0, yes_no: int = 0, no_yes: int = 0) -> list[tuple[int, int]]:
    return [(1, 1)] * yes + [(0, 0)] * no + [(1, 0)] * yes_no + [(0, 1)] * no_yes


@pytest.mark.parametrize(
    ("votes", "agreement", "kappa"),
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
    votes: list[tuple[int, int]], agreement: float | None, kappa: float | None
) -> None:
    assert observed_agreement(votes) == pytest.approx(agreement)
    assert cohen_kappa(votes) == pytest.approx(kappa)


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
    observed = Fraction(sum(one == other for one, other in votes), count)
    assert observed_agreement(votes) == pytest.approx(float(observed))
    assert cohen_kappa(votes) == pytest.approx(float((observed - chance) / (1 - chance)))


@steady
@given(votes=many_pairs)
def test_it_does_not_matter_who_of_the_two_came_first(votes: list[tuple[int, int]]) -> None:
    swapped = [(second, first) for first, second in votes]
    assert observed_agreement(swapped) == observed_agreement(votes)
    assert cohen_kappa(swapped) == pytest.approx(cohen_kappa(votes))
