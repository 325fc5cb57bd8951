"""Assignments in another state there, or on one side only: named, mended, and then at rest."""

import pytest

from annotation.models import Account, Assignment, Entry, Judgment, OutboxMessage, Worker
from annotation.pipeline.collecting.collect import close, fetch_submissions
from annotation.pipeline.collecting.review import review
from annotation.pipeline.ledger.reservations import set_budget
from annotation.pipeline.outbox.claims import UNSENT
from annotation.pipeline.outbox.deliver import deliver
from annotation.protocol.screening.control import RejectionReason
from tests.annotation.pipeline.reconcile.drift import (
    account,
    compare,
    finish,
    mended,
    money,
    repairs,
    spend_all_but,
)
from tests.conftest import SetStage
from tests.worlds.mturk import Killed, MortalCrowd
from tests.worlds.small_campaign import BUDGET_CENTS, Stage

pytestmark = pytest.mark.django_db

REWARD_AND_FEE = 19


def reviewed(stage: Stage) -> None:
    """Collected and reviewed; no decision has been sent."""
    fetch_submissions(stage.campaign, stage.mturk.crowd)
    review(stage.campaign)


def state(work: str) -> tuple[str, str]:
    stored = Assignment.objects.get(crowd_id=work)
    return stored.status, stored.account


def overturn_there(stage: Stage, work: str) -> None:
    stage.mturk.crowd._client.approve_assignment(AssignmentId=work, OverrideRejection=True)


# Decided there


def test_work_approved_manually_is_recorded_and_paid(one_hit: Stage) -> None:
    work = one_hit.work("ada", 1)
    reviewed(one_hit)
    one_hit.mturk.crowd.approve(work)
    report = compare(one_hit)
    assert repairs(report) == {"decided": 1}
    assert report.done == [
        f"Assignment {work} of HIT {one_hit.hit(1).key} is approved at the crowd, by time-out or "
        "manually: recorded."
    ]
    assert mended(one_hit) == {}
    assert state(work) == ("approved", "paid")
    assert not one_hit.campaign.outbox.filter(state__in=UNSENT).exists()
    assert account(one_hit).spent_cents == one_hit.mturk.spent_cents == REWARD_AND_FEE
    finish(one_hit, "bob")


def test_failed_work_that_the_crowd_approved_by_time_out_is_paid_and_discarded(
    one_hit: Stage,
) -> None:
    work = one_hit.work("eve", 1, slips=1)
    reviewed(one_hit)
    one_hit.mturk.clock.move_on(days=one_hit.campaign.policy.auto_approval_days, minutes=1)
    assert mended(one_hit) == {"decided": 1}
    assert state(work) == ("approved", "discarded")
    assert [message.state for message in one_hit.outbox("reject")] == ["done"]
    assert one_hit.deliver().sent == 1  # the place to be filled by another worker
    assert state(work) == ("approved", "discarded")


def test_passed_work_that_was_rejected_manually_is_asked_for_again(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    work = one_hit.work("bob", 1)
    reviewed(one_hit)
    one_hit.mturk.crowd.reject(work, reason="By hand.", why=RejectionReason.MANUAL)
    assert mended(one_hit) == {"decided": 1}
    assert state(work) == ("rejected", "released")
    assert set(one_hit.campaign.triplets.values_list("votes", flat=True)) == {1}
    assert one_hit.hit(1).max_assignments == 3
    one_hit.deliver()
    finish(one_hit, "cara")


def test_work_decided_before_it_is_reviewed_is_recorded_and_booked_with_its_review(
    one_hit: Stage,
) -> None:
    work = one_hit.work("ada", 1)
    fetch_submissions(one_hit.campaign, one_hit.mturk.crowd)
    one_hit.mturk.crowd.approve(work)
    assert mended(one_hit) == {"decided": 1}
    assert state(work) == ("approved", "")
    one_hit.advance()
    assert state(work) == ("approved", "paid")
    assert one_hit.outbox("approve") == []


@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize("after", ["claimed", "pending"])
def test_a_decision_that_is_being_sent_is_no_drift(
    one_hit: Stage, answered: bool, after: str
) -> None:
    work = one_hit.work("ada", 1)
    reviewed(one_hit)
    dying = MortalCrowd(one_hit.mturk.url, calls=0, answered=answered)
    with pytest.raises(Killed):
        deliver(one_hit.campaign, dying, clock=one_hit.mturk.clock.now, threads=1)
    OutboxMessage.objects.filter(kind="approve").update(state=after)
    assert mended(one_hit, full=True) == {}
    assert state(work) == ("submitted", "")
    one_hit.mturk.clock.move_on(hours=1)
    assert one_hit.deliver().sent == 1
    assert mended(one_hit, full=True) == {}
    assert state(work) == ("approved", "paid")


def test_a_decision_that_failed_and_was_made_by_hand_is_recorded(one_hit: Stage) -> None:
    work = one_hit.work("ada", 1)
    reviewed(one_hit)
    now = one_hit.mturk.clock.now()
    OutboxMessage.objects.filter(kind="approve").update(
        state="failed", error="No.", first_sent_at=now
    )
    one_hit.mturk.crowd.approve(work)
    assert mended(one_hit) == {"decided": 1}
    assert [(message.state, message.error) for message in one_hit.outbox("approve")] == [
        ("done", "")
    ]


# Undecided there


@pytest.mark.parametrize(("slips", "status"), [(0, "approved"), (1, "rejected")])
def test_a_decision_that_the_crowd_does_not_have_is_sent_again(
    one_hit: Stage, slips: int, status: str
) -> None:
    work = one_hit.work("ada", 1, slips=slips)
    one_hit.advance()
    before = money(one_hit)
    take_back_there(one_hit, work)
    report = compare(one_hit)
    assert repairs(report) == {"sent_again": 1}
    assert f"is {status} here and undecided at the crowd" in report.done[0]
    assert mended(one_hit) == {}
    assert one_hit.deliver().sent == 1
    assert mended(one_hit) == {}
    rows = one_hit.mturk.rows("SELECT status FROM assignments WHERE assignment_id = ?", work)
    assert rows == [(status.capitalize(),)]
    assert money(one_hit) == before


def take_back_there(stage: Stage, work: str) -> None:
    stage.mturk.alter(
        "UPDATE assignments SET status = 'Submitted', approved_at = NULL, rejected_at = NULL"
        " WHERE assignment_id = ?",
        work,
    )
    # The place's money is on hold again.
    stage.mturk.alter(
        "INSERT INTO money (at, kind, available, on_hold, spent)"
        " SELECT 0, 'release', -available, -on_hold, -spent FROM money WHERE assignment_id = ?",
        work,
    )


# A rejection, overturned


@pytest.mark.parametrize(("slips", "booked"), [(0, "paid"), (1, "discarded")])
def test_an_overturned_rejection_is_paid_again(one_hit: Stage, slips: int, booked: str) -> None:
    one_hit.work("ada", 1)
    work = one_hit.work("bob", 1, slips=slips)
    reviewed(one_hit)
    one_hit.mturk.crowd.reject(work, reason="By hand.", why=RejectionReason.MANUAL)
    compare(one_hit)
    one_hit.advance()
    overturn_there(one_hit, work)
    assert mended(one_hit) == {}  # the counts are the same
    report = compare(one_hit, full=True)
    assert repairs(report) == {"overturned": 1}
    key = one_hit.hit(1).key
    assert report.done == [
        f"The rejection of assignment {work} of HIT {key} was overturned manually: paid."
    ]
    assert mended(one_hit, full=True) == {}
    assert state(work) == ("approved", booked)
    assert account(one_hit).spent_cents == one_hit.mturk.spent_cents == 2 * REWARD_AND_FEE
    votes = set(one_hit.campaign.triplets.values_list("votes", flat=True))
    assert votes == {2 - slips}


def test_an_overturned_rejection_waits_for_a_budget_that_covers_it(one_hit: Stage) -> None:
    work = one_hit.work("eve", 1, slips=1)
    one_hit.advance()
    spend_all_but(one_hit, REWARD_AND_FEE - 1)
    overturn_there(one_hit, work)
    report = compare(one_hit, full=True)
    assert repairs(report) == {}
    assert f"The rejection of assignment {work}" in report.manual[0]
    assert "the budget of faq does not cover it: raise it." in report.manual[0]
    assert state(work) == ("rejected", "released")
    set_budget(one_hit.campaign, BUDGET_CENTS)
    assert mended(one_hit, full=True) == {"overturned": 1}
    assert state(work) == ("approved", "discarded")


def test_what_cannot_be_is_left_to_a_person(one_hit: Stage) -> None:
    work = one_hit.work("eve", 1, slips=1)
    one_hit.advance()
    Assignment.objects.update(status="approved")
    report = compare(one_hit, full=True)
    assert repairs(report) == {}
    assert f"Assignment {work} of HIT" in report.manual[0]
    assert "is approved and paid here, and rejected at the crowd" in report.manual[0]


# On one side only


def test_work_missing_here_is_stored_and_booked(one_hit: Stage) -> None:
    """Of a HIT that is closed here: collect reads it no more."""
    one_hit.work("ada", 1)
    one_hit.advance()
    work = one_hit.work("bob", 1)
    one_hit.mturk.clock.move_on(days=8)  # the crowd approves it by time-out
    close(one_hit.campaign, [one_hit.hit(1).pk], one_hit.mturk.clock.now())
    assert one_hit.advance().new == 0
    report = compare(one_hit)
    assert repairs(report) == {"stored": 1}
    key = one_hit.hit(1).key
    assert report.done == [f"Assignments of HIT {key} were missing here: {work}: stored."]
    assert mended(one_hit) == {}
    one_hit.advance()
    assert state(work) == ("approved", "paid")
    assert set(one_hit.campaign.triplets.values_list("votes", flat=True)) == {2}


def test_new_work_is_left_to_the_next_pass(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    assert mended(one_hit, full=True) == {}
    assert one_hit.advance().new == 1


def test_work_that_the_crowd_does_not_have_is_left_to_a_person(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    one_hit.advance()
    work = Assignment.objects.get()
    work.pk, work.crowd_id = None, "3GONE"
    work.worker = Worker.objects.create(crowd="mturk", worker_id="AELSE")
    work.save()
    report = compare(one_hit, full=True)
    assert any("Assignment 3GONE is not in the crowd's record" in each for each in report.manual)


# Money


def test_an_account_that_is_not_what_its_entries_make_is_told_and_left(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    one_hit.advance()
    Account.objects.update(paid_cents=20)
    report = compare(one_hit)
    assert report.done == []
    assert report.manual == ["The account of faq says paid_cents 20, its entries make 19."]
    assert account(one_hit).paid_cents == 20


def test_decided_work_that_was_not_booked_is_settled(set_stage: SetStage) -> None:
    stage = set_stage(candidates_per_query=1)
    stage.publish()
    work = stage.work("ada", 1)
    reviewed(stage)
    stage.mturk.crowd.approve(work)
    Assignment.objects.update(status="approved")
    OutboxMessage.objects.filter(kind="approve").update(state="done")
    report = compare(stage)
    assert repairs(report) == {"settled": 1}
    assert report.done == ["1 decided assignments had not been booked: settled."]
    assert mended(stage) == {}
    assert state(work) == ("approved", "paid")
    assert Entry.objects.filter(key=f"settle:{work}").count() == 1


def test_nothing_that_was_mended_brings_a_vote_twice(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    work = one_hit.work("bob", 1)
    one_hit.advance()
    judgments = Judgment.objects.count()
    take_back_there(one_hit, work)
    compare(one_hit, full=True)
    one_hit.advance()
    assert Judgment.objects.count() == judgments
