from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.estimates.downsampling import superfluous
from tests.annotation.protocol.steady import steady

NOW = datetime(2026, 11, 22, 12, 0, 0, tzinfo=UTC)


def ago(**age: float) -> datetime:
    return NOW - timedelta(**age)


def test_of_the_last_hour_one_in_ten_seconds_stays() -> None:
    times = [ago(seconds=40), ago(seconds=38), ago(seconds=31), ago(seconds=29), NOW]
    assert superfluous(times, NOW) == [0, 1]


def test_of_the_last_day_one_in_a_quarter_of_an_hour_stays() -> None:
    times = [ago(hours=3, minutes=age) for age in (31, 29, 20, 16, 14)]
    assert superfluous(times, NOW) == [1, 2]


def test_of_the_last_month_four_a_day_stay_and_of_earlier_days_one() -> None:
    month = [ago(days=10, hours=hours) for hours in (11, 8, 7, 5)]
    assert superfluous(month, NOW) == [0, 1]  # at 1, 4 and 5 hours, and at 7
    earlier = [ago(days=40, hours=hours) for hours in (13, 11, 5, 1)]
    assert superfluous(earlier, NOW) == [1, 2]


times = st.lists(
    st.integers(0, 400 * 86_400).map(lambda age: NOW - timedelta(seconds=age)), max_size=60
).map(sorted)


@steady
@given(times)
def test_the_newest_stays_and_what_is_left_stays_left(known: list[datetime]) -> None:
    drop = set(superfluous(known, NOW))
    kept = [at for place, at in enumerate(known) if place not in drop]
    assert kept[-1:] == known[-1:]
    assert superfluous(kept, NOW) == []


def test_a_campaign_of_a_year_keeps_some_hundreds() -> None:
    """A count every ten minutes, thinned each day; on the last day, one every ten seconds."""
    kept: list[datetime] = []
    for day in range(365):
        every = timedelta(minutes=10) if day < 364 else timedelta(seconds=10)
        begin = NOW + timedelta(days=day)
        kept += [begin + every * step for step in range(timedelta(days=1) // every)]
        drop = set(superfluous(kept, kept[-1]))
        kept = [one for place, one in enumerate(kept) if place not in drop]
        assert len(kept) < 1000
    assert kept[-1] - kept[0] > timedelta(days=363)
