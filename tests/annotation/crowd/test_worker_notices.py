"""Who is excluded reads why, what becomes of the work, and whom to write to."""

import pytest
from pytest_django import Settings

from annotation.crowd.worker_notices import FAREWELL, PAID, why_excluded
from annotation.models import Exclusion, Worker
from annotation.pipeline.manual.exclusion import exclude
from tests.annotation.support.hits import make_campaign
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db

LOST = "Your answers in this campaign no longer count, and it has no more tasks for you."
INHOUSE = {"crowd": "inhouse", "masters": False, "min_approval_percent": 0, "min_approved": 0}


@pytest.fixture(autouse=True)
def _contact(settings: Settings) -> None:
    settings.CONTACT = "judging@example.org"


def words(*, failures: int = 3, reviewed: int = 20, reason: str = "", **policy: object) -> str:
    eve = Worker.objects.create(crowd="mturk", worker_id="AEVE")
    exclusion = Exclusion.objects.create(
        campaign=make_campaign(**policy),
        worker=eve,
        failures=failures,
        reviewed=reviewed,
        reason=reason,
    )
    return " ".join(why_excluded(exclusion))


def test_the_figures_of_the_moment_are_told_with_all_that_follows() -> None:
    assert words() == (
        "3 of your first 20 tasks failed their check questions, more than the 10% this campaign "
        f"allows. {LOST} {PAID} Work not decided yet will be paid, if its check questions are "
        "answered right. If you think this is a mistake, write to judging@example.org."
    )


def test_by_the_sequential_rule_it_is_more_than_bad_luck_explains() -> None:
    report = words(failures=3, reviewed=3, exclusion_rule="sequential")
    assert report.startswith(
        "3 of your first 3 tasks failed their check questions, more than is likely of somebody who "
        "fails the 10% this campaign allows."
    )


def test_where_failed_work_is_paid_all_of_it_will_be() -> None:
    found = words(on_failed_control="pay_and_discard", max_failure_rate=0.125)
    assert "more than the 12.5% this campaign allows" in found
    assert "Work not decided yet will be paid. If" in found


def test_where_nothing_is_paid_nothing_is_said_of_pay() -> None:
    found = words(**INHOUSE, reward_cents=0)
    assert found.endswith(f"{LOST} If you think this is a mistake, write to judging@example.org.")
    assert "paid" not in found


@pytest.mark.parametrize(
    ("failures", "reviewed", "rate"), [(0, 1, 0.1), (2, 20, 0.1), (3, 20, 0.15), (0, 0, 0.0)]
)
def test_no_figures_are_told_that_would_exclude_nobody(
    failures: int, reviewed: int, rate: float
) -> None:
    found = words(failures=failures, reviewed=reviewed, max_failure_rate=rate)
    assert found.startswith(FAREWELL)
    assert "allows" not in found


def test_a_reason_given_by_hand_is_the_reason_whatever_the_figures() -> None:
    found = words(failures=9, reviewed=9, reason="You asked to be left out.")
    assert found.startswith(f"You asked to be left out. {LOST}")
    assert "9" not in found


def test_by_hand_the_worker_reads_what_the_owner_wrote(one_hit: Stage) -> None:
    one_hit.work("bob", 1, slips=1)
    one_hit.advance()
    exclude(one_hit.campaign, "ABOB", reason=" You share an account with another worker. ")
    report = "You share an account with another worker."
    assert why_excluded(one_hit.campaign.exclusions.get())[0] == report
    assert one_hit.outbox("exclude")[0].reason == f"{report} {PAID}"


def test_by_hand_and_without_a_reason_no_false_figures_are_told(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    one_hit.advance()
    exclude(one_hit.campaign, "AADA", reason="")
    assert why_excluded(one_hit.campaign.exclusions.get())[0] == FAREWELL
    assert one_hit.outbox("exclude")[0].reason == f"{FAREWELL} {PAID}"


@pytest.mark.parametrize(
    ("contact", "policy", "expected"),
    [
        (
            "",
            {},
            "If you think this is a mistake, write to the requester through the crowd's site.",
        ),
        ("", INHOUSE, "If you think this is a mistake, write to the people who invited you."),
        ("Ask Ada at desk 3.", {}, "If you think this is a mistake: Ask Ada at desk 3."),
    ],
)
def test_somebody_to_write_to_is_always_named(
    settings: Settings, contact: str, policy: dict[str, object], expected: str
) -> None:
    settings.CONTACT = contact
    assert words(**policy).endswith(expected)
