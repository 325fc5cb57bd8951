"""How long the tasks that are left take a member, and when a break is due."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from annotation.crowd.inhouse.models import Assignment
from annotation.web.annotator.eta import Stretch, duration, eta, wants_break
from tests.annotation.web.annotator.test_task_list import do, text
from tests.annotation.web.stage import offer_hits

NOW = datetime(2026, 11, 26, 12, 0, tzinfo=UTC)


def worked(*gaps_and_tasks: tuple[int, int]) -> list[Stretch]:
    """Backwards from now, in minutes: a gap and the task before it; the newest first."""
    work, end = [], NOW
    for gap, task in gaps_and_tasks:
        end -= timedelta(minutes=gap)
        work.append(Stretch("bread", end - timedelta(minutes=task), end))
        end -= timedelta(minutes=task)
    return work


@pytest.mark.parametrize(
    ("work", "is_due"),
    [
        ([], False),
        ([(0, 44)], False),
        ([(0, 45)], True),
        ([(1, 10)] * 5, True),
        ([(0, 20), (5, 40)], False),
        ([(6, 60)], False),  # they are back from one
        ([(0, 10), (4, 10), (4, 10), (4, 10)], True),
    ],
)
def test_a_break_is_due_after_three_quarters_of_an_hour_without_a_gap_of_five_minutes(
    work: list[tuple[int, int]], *, is_due: bool
) -> None:
    assert wants_break(worked(*work), NOW) == is_due


def test_the_time_left_goes_by_the_median_of_the_tasks_of_that_kind_once_there_are_three() -> None:
    work = worked((0, 1), (0, 2), (0, 30))
    assert eta(work, "bread", 7) == "about 2 minutes each: about 14 minutes for the rest"
    assert eta(work, "bread", 0) == "about 2 minutes each"
    assert eta(work[:2], "bread", 7) == eta(work, "tea", 7) == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 second"),
        (89, "89 seconds"),
        (90, "2 minutes"),
        (5399, "90 minutes"),
        (86_400, "24 hours"),
    ],
)
def test_durations_are_said_as_people_say_them(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.django_db
def test_the_home_says_how_long_the_rest_takes_and_suggests_a_break(adas: Client) -> None:
    offer_hits(hits=5)
    do(adas, 3)
    now = timezone.now()
    done = Assignment.objects.exclude(submitted_at=None).order_by("-pk")
    for number, work in enumerate(done):
        ended = now - timedelta(minutes=20 * number)
        Assignment.objects.filter(pk=work.pk).update(
            accepted_at=ended - timedelta(minutes=20), submitted_at=ended
        )
    shown = text(adas.get("/work"))
    assert "About 20 minutes each: about 20 minutes for the rest" in shown
    assert "You have worked for three quarters of an hour without a break." in shown
