"""When a campaign will be done, in words."""

from datetime import UTC, datetime, timedelta

import pytest

from annotation.models import Campaign, Snapshot
from annotation.web.campaigns.overview_data import finish, time_taken

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
COUNTS = {
    "triplets": 100,
    "labelled": 30,
    "open": 69,
    "unresolved": 1,
    "eta": None,
    "stranded": {"assignments": 0},
}


def report(state: str = "active", **figures: object) -> str:
    return finish(
        Campaign(state=state, policy_data={}), Snapshot(at=NOON, figures={**COUNTS, **figures})
    )


def test_nothing_is_foretold_before_there_are_triplets() -> None:
    assert report(triplets=0, open=0) == "Nothing is packed yet."


def test_what_is_done_is_done() -> None:
    sentence = "Every triplet is decided: 99 with a label, 1 unresolved."
    assert report(open=0, labelled=99) == sentence


@pytest.mark.parametrize("state", ["paused", "cancelled"])
def test_what_buys_nothing_has_no_end(state: str) -> None:
    eta = {"hours": 5.0, "least": 4.0, "most": 6.0}
    assert report(state, eta=eta) == ("69 triplets are open and stay so: nothing more is bought.")


def test_where_nothing_came_lately_nobody_knows() -> None:
    assert report() == "69 triplets are open; none was decided in the last 6 hours."


def test_nothing_is_forecast_where_nobody_is_left() -> None:
    assert report(stranded={"assignments": 11}) == (
        "69 triplets are open. They cannot all be labelled until more people join."
    )


def test_a_forecast_has_its_range() -> None:
    assert report(eta={"hours": 26.5, "least": 20.0, "most": 36.0}) == (
        "At the rate of the last hours the 69 open triplets are decided around 2026-11-23 14:30 "
        "UTC, between 2026-11-23 08:00 UTC and 2026-11-24 00:00 UTC."
    )


@pytest.mark.parametrize("most", [None, 10_000.0, 1e9, 1e18])
def test_an_uneven_rate_has_no_latest_end(most: float | None) -> None:
    assert report(eta={"hours": 1.0, "least": 0.5, "most": most}) == (
        "At the rate of the last hours the 69 open triplets are decided around 2026-11-22 13:00 "
        "UTC; the rate is too uneven to say when at the latest."
    )


@pytest.mark.parametrize(
    ("took", "time", "dates"),
    [
        ({"seconds": 12}, "Less than a minute", "2026-11-22"),
        ({"minutes": 41}, "41 min", "2026-11-22"),
        ({"hours": 26, "minutes": 10}, "26 h 10 min", "2026-11-22 to 2026-11-23"),
        ({"days": 8, "hours": 1}, "9 days", "2026-11-22 to 2026-11-30"),
    ],
)
def test_how_long_it_took_is_said_in_fitting_units(
    took: dict[str, int], time: str, dates: str
) -> None:
    began, ended = NOON.isoformat(), (NOON + timedelta(**took)).isoformat()
    assert time_taken(began, ended) == (time, dates)


def test_what_took_no_work_took_no_time() -> None:
    assert time_taken(None, None) == ("", "")
