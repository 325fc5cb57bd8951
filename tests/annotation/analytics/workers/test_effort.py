"""Who works and how: the owner's figures."""

from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from annotation.analytics.campaign.progress import progress
from annotation.analytics.workers.effort import (
    BARS,
    Effort,
    effort_of,
    histogram,
    hourly,
    people_of,
)
from annotation.analytics.workers.item_reports import Complaint, read_items, reported_items
from annotation.models import Exclusion, Worker
from tests.annotation.support.annotators import NOON, Annotators, make_annotators
from tests.annotation.support.hits import make_campaign
from tests.support.command_line import quorum

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>\"'&{{ 7 }}"


@pytest.fixture
def annotators() -> Annotators:
    return make_annotators()


def test_medians_and_wages_are_those_worked_out_by_hand(annotators: Annotators) -> None:
    """At 15 cents a HIT.

    Ada: 100, 110 and 210 s, all approved: 45 cents in 420 s are 386 (385.7) an hour; median 110.
    Bob: 40 s approved, 60 s rejected, 500 s undecided: 15 cents in 100 s are 540; median 60.
    Cara: 200 s approved with bonuses of 5 and, only asked for, 90 cents: 20 in 200 s are 360.
    Dan: two HITs without a time: no wage, no median.
    All: 40 60 100 110 200 210 500: median 110; 80 cents in 720 s are 400 an hour;
    the worker in the middle of 360, 386 and 540 has 386.
    """
    for number, seconds in ((1, 100), (2, 110), (3, 210)):
        annotators.work("ada", number, seconds)
    annotators.work("bob", 1, 40)
    annotators.work("bob", 2, 60, status="rejected", passed=False)
    annotators.bonus(annotators.work("bob", 3, 500, status="submitted"), 70)
    done = annotators.work("cara", 1, 200)
    annotators.bonus(done, 5)
    annotators.bonus(done, 90, state="pending")
    annotators.work("dan", 1)
    annotators.work("dan", 2)
    found = annotators.people()
    figures = {
        name: (person.submitted, person.failed, person.median_ms, person.hourly_cents)
        for name, person in found.items()
    }
    assert figures == {
        "ada": (3, 0, 110_000, 386),
        "bob": (3, 1, 60_000, 540),
        "cara": (1, 0, 200_000, 360),
        "dan": (2, 0, None, None),
    }
    assert effort_of(found.values()) == Effort(
        timed=7, median_ms=110_000, hourly_cents_median=386, hourly_cents_pooled=400
    )


def test_the_median_of_an_even_number_lies_between(annotators: Annotators) -> None:
    for number, seconds in enumerate((10, 20, 31, 400), start=1):
        annotators.work("ada", number, seconds)
    assert annotators.people()["ada"].median_ms == 25_500


def test_where_nothing_is_paid_by_the_piece_there_is_no_wage() -> None:
    annotators = make_annotators(
        crowd="inhouse", masters=False, min_approval_percent=0, min_approved=0, reward_cents=0
    )
    annotators.work("ada", 1, 60)
    assert annotators.people()["ada"].hourly_cents is None
    effort = effort_of(annotators.people().values())
    assert (effort.median_ms, effort.hourly_cents_median, effort.hourly_cents_pooled) == (
        60_000,
        None,
        None,
    )


def test_all_work_rejected_earns_nothing_an_hour(annotators: Annotators) -> None:
    annotators.work("eve", 1, 60, status="rejected", passed=False)
    assert annotators.people()["eve"].hourly_cents == 0


def test_no_time_at_all_divides_nothing(annotators: Annotators) -> None:
    annotators.work("eve", 1, 0)
    assert annotators.people()["eve"].hourly_cents is None
    assert hourly(15, 0) is None
    assert hourly(None, 1000) is None


def test_a_bonus_for_work_without_a_time_is_in_no_wage(annotators: Annotators) -> None:
    annotators.work("ada", 1, 60)
    annotators.bonus(annotators.work("ada", 2), 500)
    assert annotators.people()["ada"].hourly_cents == 15 * 60


def test_changes_and_straight_lines_are_counted_by_hit(annotators: Annotators) -> None:
    """Changes by HITs with a time, straight lines by all with behaviour."""
    annotators.work("ada", 1, 60, changes=3)
    annotators.work("ada", 2, 60, changes=2, straight=True)
    annotators.work("ada", 3)
    annotators.work("ada", 4, straight=True)
    ada = annotators.people()["ada"]
    assert (ada.changes_per_hit, ada.straight_share) == (2.5, 0.5)


def test_reports_and_exclusions_are_those_of_this_campaign(annotators: Annotators) -> None:
    done = annotators.work("ada", 1, 60)
    annotators.report(done, 0)
    annotators.report(done, 1)
    annotators.work("eve", 1, 60)
    other = make_campaign("other")
    for campaign, restored_at in ((other, None), (annotators.campaign, NOON)):
        Exclusion.objects.create(
            campaign=campaign, worker=done.worker, failures=1, reviewed=1, restored_at=restored_at
        )
    eve = Worker.objects.get(worker_id="eve")
    Exclusion.objects.create(campaign=annotators.campaign, worker=eve, failures=1, reviewed=1)
    found = annotators.people()
    assert (found["ada"].reports, found["ada"].excluded) == (2, False)
    assert (found["eve"].reports, found["eve"].excluded) == (0, True)
    assert people_of(other) == []


@pytest.mark.parametrize(("seconds", "fast"), [(29.9, True), (30, False), (30.1, False)])
def test_fast_is_under_a_third_of_the_campaign_s_median(
    annotators: Annotators, seconds: float, fast: bool
) -> None:
    """The campaign's is 90 seconds, whatever eve takes."""
    for number in (1, 2, 3):
        annotators.work("ada", number, 90)
    annotators.work("eve", 4, seconds)
    assert annotators.people()["eve"].is_fast is fast
    assert not annotators.people()["ada"].is_fast


@pytest.mark.parametrize(("straight", "expected"), [(0, False), (1, False), (2, True)])
def test_more_than_a_fifth_of_straight_lines_is_worth_a_look(
    annotators: Annotators, straight: int, expected: bool
) -> None:
    for number in range(1, 6):
        annotators.work("eve", number, 60, straight=number <= straight)
    assert annotators.people()["eve"].is_straight is expected


@pytest.mark.parametrize(
    ("times", "step", "counts"),
    [
        ([], 1, {}),
        ([0, 999, 1000, 18_999], 1, {0: 2, 1: 1, 18: 1}),
        ([19_000] * 20, 2, {9: 20}),
        ([30_000] * 99 + [3_600_000], 2, {15: 99, 19: 1}),
        ([10**12], 21_600, {19: 1}),
    ],
)
def test_the_bars_hold_every_time_and_the_last_one_the_longest(
    times: list[int], step: int, counts: dict[int, int]
) -> None:
    found = histogram(times)
    assert found.step_s == step
    assert list(found.counts) == [counts.get(bar, 0) for bar in range(BARS)]


def test_status_tells_of_times_and_wages_once_there_are_some(annotators: Annotators) -> None:
    annotators.work("ada", 1)
    assert "median_active_seconds" not in progress(annotators.campaign)
    annotators.work("ada", 2, 45.25)
    annotators.work("bob", 2, 60)
    found = progress(annotators.campaign)
    assert found["median_active_seconds"] == 52.6
    assert (found["hourly_cents_median"], found["hourly_cents_pooled"]) == (1046, 1026)
    out = StringIO()
    quorum("campaign", "status", "faq", stdout=out)
    (report,) = (line for line in out.getvalue().splitlines() if "worker in the middle" in line)
    assert report.endswith("$10.46")


def test_items_that_most_have_reported_come_first(annotators: Annotators) -> None:
    ada, bob, cara = (annotators.work(name, 1) for name in ("ada", "bob", "cara"))
    annotators.report(ada, 0, "other", "Dull.")
    annotators.report(ada, 1)
    annotators.report(bob, 1, "personal")
    annotators.report(cara, 1, text="Which?")
    first, second = read_items(list(reported_items(annotators.campaign)))
    assert (first.position, first.workers) == (2, 3)
    assert first.complaints == [
        Complaint("It cannot be understood", 2, texts=["Which?"]),
        Complaint("It holds personal data", 1),
    ]
    assert (second.query, second.control, second.workers) == ("query 0", "", 1)
    assert second.complaints == [Complaint("Something else", 1, texts=["Dull."])]
    assert list(reported_items(make_campaign("other"))) == []


@pytest.mark.parametrize("name", ["behaviour", "itemreport"])
def test_the_staff_look_at_the_records_and_change_none(
    client: Client, annotators: Annotators, name: str
) -> None:
    client.force_login(User.objects.create_superuser("ada"))
    work = annotators.work("ada", 1, 60)
    annotators.report(work, 0, "other", HOSTILE)
    row = work.behaviour if name == "behaviour" else work.reports.get()
    listed = reverse(f"admin:annotation_{name}_changelist")
    shown = reverse(f"admin:annotation_{name}_change", args=[row.pk])
    for page in (listed, f"{listed}?q=ada", shown):
        response = client.get(page)
        assert response.status_code == 200
        assert HOSTILE not in response.content.decode()
    assert client.post(shown, {}).status_code == 403
    assert client.get(reverse(f"admin:annotation_{name}_add")).status_code == 403
    assert client.post(reverse(f"admin:annotation_{name}_delete", args=[row.pk])).status_code == 403
