from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.estimates.eta import Eta, Rate, Reading, eta, rate_of
from tests.annotation.protocol.steady import steady


def readings(*counts: tuple[float, int]) -> list[Reading]:
    return [Reading(hours, done) for hours, done in counts]


@pytest.mark.parametrize("known", [[], readings((1, 5)), readings((1, 5), (1, 9))])
def test_one_time_alone_tells_no_rate(known: list[Reading]) -> None:
    assert rate_of(known) is None


def test_two_readings_tell_a_rate_and_nothing_of_its_error() -> None:
    assert rate_of(readings((1, 10), (3, 40))) == Rate(15, None)


def test_an_even_rate_has_no_error() -> None:
    assert rate_of(readings((0, 0), (1, 7), (4, 28), (6, 42))) == Rate(7, 0)


def test_the_error_is_that_of_the_mean_of_the_slices() -> None:
    """Two hours at 10 and 20 an hour: their deviation is 7.071, by the root of 2 it is 5."""
    rate = rate_of(readings((0, 0), (1, 10), (2, 30)))
    assert rate is not None
    assert (rate.per_hour, rate.error) == (15, pytest.approx(5))


def test_readings_at_uneven_times_are_joined_by_straight_lines() -> None:
    """Half way, at 1.5 hours, the line from (1, 10) to (3, 50) is at 20: slices of 20 and 30."""
    rate = rate_of(readings((0, 0), (1, 10), (3, 50)))
    assert rate is not None
    # Slices of 1.5 hours: 20 and 30 in each, 13.33 and 20 an hour, a deviation of 4.714.
    assert (rate.per_hour, rate.error) == (pytest.approx(50 / 3), pytest.approx(10 / 3))


counts = st.lists(st.tuples(st.integers(1, 50), st.integers(0, 100)), min_size=2, max_size=30)


@steady
@given(counts)
def test_the_range_holds_the_forecast(steps: list[tuple[int, int]]) -> None:
    hours = done = 0
    known = []
    for later, more in steps:
        hours, done = hours + later, done + more
        known.append(Reading(hours, done))
    ahead = eta(100, rate_of(known))
    if known[-1].done == known[0].done:
        assert ahead is None
        return
    assert ahead is not None
    assert ahead.least <= ahead.hours * 1.000001
    assert ahead.most is None or ahead.most >= ahead.hours * 0.999999
    span = known[-1].hours - known[0].hours
    assert ahead.hours == pytest.approx(100 * span / (known[-1].done - known[0].done))


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (None, None),
        (Rate(0, 1), None),
        (Rate(-3, 0), None),  # labels were withdrawn
        (Rate(10, None), Eta(10, 0, None)),
        (Rate(10, 0), Eta(10, 10, 10)),
        (Rate(10, 2.5), Eta(10, pytest.approx(100 / 15), 20)),
        (Rate(10, 5), Eta(10, 5, None)),  # at the slow end nothing comes
    ],
)
def test_a_hundred_that_are_left(rate: Rate | None, expected: Eta | None) -> None:
    assert eta(100, rate) == expected
