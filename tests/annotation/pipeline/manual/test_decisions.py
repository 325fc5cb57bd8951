"""Assignments paid or refused by hand: status, votes, money and the rule of exclusion."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from annotation.analytics.campaign.status import blockers
from annotation.crowd.mturk.adapter import MTurkCrowd
from annotation.models import Assignment, Campaign
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.collecting.review import review
from annotation.pipeline.ledger.reservations import account_of, set_budget
from annotation.pipeline.manual.decisions import (
    approve_manually,
    check_covered,
    preview_approval,
    preview_rejection,
    reject_manually,
)
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.recompute import recompute
from annotation.pipeline.reconcile.run import reconcile
from annotation.protocol.screening.control import RejectionReason
from core.errors import UserError
from tests.annotation.pipeline.ledger.ledger_book import PRICE, money
from tests.worlds.mturk import Killed, MortalCrowd
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db

MISSED = RejectionReason.MISSED.sentence.format(count=1)
REASON = "The answers were given by a script."


def now(stage: Stage) -> datetime:
    return stage.mturk.clock.now()


def reviewed(stage: Stage) -> None:
    """What follows is decided, and nobody has been told."""
    fetch_submissions(stage.campaign, stage.mturk.crowd)
    review(stage.campaign)


def status_at_the_crowd(stage: Stage, assignment: str) -> str:
    query = "SELECT status FROM assignments WHERE assignment_id = ?"
    return str(stage.mturk.rows(query, assignment)[0][0])


def states(stage: Stage, kind: str) -> list[str]:
    return [message.state for message in stage.outbox(kind)]


def rejected_work(stage: Stage) -> str:
    assignment = stage.work("eve", 1, slips=1)
    stage.advance()
    assert status_at_the_crowd(stage, assignment) == "Rejected"
    return assignment


def test_work_that_failed_is_paid_before_its_rejection_is_sent(one_hit: Stage) -> None:
    assignment = one_hit.work("eve", 1, slips=1)
    reviewed(one_hit)
    seen = approve_manually(one_hit.campaign, assignment, now=now(one_hit))
    assert (seen.kind, seen.cents, seen.votes, seen.passed) == ("approve", PRICE, 0, False)
    one_hit.advance()
    assert status_at_the_crowd(one_hit, assignment) == "Approved"
    assert states(one_hit, "reject") == ["cancelled"]
    work = Assignment.objects.get(crowd_id=assignment)
    assert (work.status, work.passed, work.account) == ("approved", False, "discarded")
    assert money(one_hit)[1:] == (0, PRICE)
    assert one_hit.mturk.spent_cents == PRICE
    assert set(one_hit.labels().values()) == {"open"}
    assert {row.votes for row in one_hit.campaign.triplets.all()} == {0}


@pytest.mark.parametrize(("slips", "why", "said"), [(1, "missed", MISSED), (0, "manual", REASON)])
def test_the_crowd_learns_whether_a_check_or_a_person_rejects(
    one_hit: Stage, monkeypatch: pytest.MonkeyPatch, slips: int, why: str, said: str
) -> None:
    assignment = one_hit.work("eve", 1, slips=slips)
    reviewed(one_hit)
    if not slips:
        reject_manually(one_hit.campaign, assignment, reason=REASON)
    sent: list[str] = []
    monkeypatch.setattr(
        MTurkCrowd, "reject", lambda _, __, *, reason, why: sent.append(f"{why.key}: {reason}")
    )
    one_hit.advance()
    assert sent == [f"{why}: {said}"]


def test_where_the_crowd_wants_a_long_reason_a_short_one_is_refused(one_hit: Stage) -> None:
    assignment = one_hit.work("eve", 1, slips=0)
    reviewed(one_hit)
    policy = one_hit.campaign.policy.for_crowd("prolific").to_dict()
    Campaign.objects.update(policy_data=policy)
    one_hit.campaign.refresh_from_db()
    with pytest.raises(UserError, match="give one of at least 100 and at most 1,024 characters"):
        preview_rejection(one_hit.campaign, assignment, reason=REASON)


def test_a_rejection_is_overturned_and_its_money_is_reserved_before(one_hit: Stage) -> None:
    assignment = rejected_work(one_hit)
    before = money(one_hit)
    seen = approve_manually(one_hit.campaign, assignment, now=now(one_hit))
    assert seen.kind == "overturn"
    assert money(one_hit) == (before[0] + PRICE, 0, 0)
    assert status_at_the_crowd(one_hit, assignment) == "Rejected"
    one_hit.deliver()
    assert status_at_the_crowd(one_hit, assignment) == "Approved"
    assert money(one_hit) == (before[0], 0, PRICE)
    assert one_hit.mturk.spent_cents == PRICE
    assert {row.votes for row in one_hit.campaign.triplets.all()} == {0}


def test_a_rejection_is_overturned_once(one_hit: Stage) -> None:
    assignment = rejected_work(one_hit)
    approve_manually(one_hit.campaign, assignment, now=now(one_hit))
    with pytest.raises(UserError, match="being overturned already"):
        approve_manually(one_hit.campaign, assignment, now=now(one_hit))
    one_hit.deliver()
    with pytest.raises(UserError, match="approved already: an approval is final"):
        approve_manually(one_hit.campaign, assignment, now=now(one_hit))
    assert states(one_hit, "overturn") == ["done"]


def test_after_thirty_days_it_cannot_be_overturned(one_hit: Stage) -> None:
    assignment = rejected_work(one_hit)
    late = now(one_hit) + timedelta(days=30)
    with pytest.raises(UserError, match=r"could be overturned until \d{4}"):
        approve_manually(one_hit.campaign, assignment, now=late)
    assert preview_approval(one_hit.campaign, assignment, now=late - timedelta(minutes=2)).until


def test_what_the_crowd_does_not_overturn_gives_its_money_back(one_hit: Stage) -> None:
    """Ordered in time, and sent too late."""
    assignment = rejected_work(one_hit)
    before = money(one_hit)
    approve_manually(one_hit.campaign, assignment, now=now(one_hit))
    one_hit.mturk.clock.move_on(days=31)
    one_hit.deliver()
    (message,) = one_hit.outbox("overturn")
    assert message.state == "cancelled"
    assert "30 days" in message.error
    assert money(one_hit) == before
    assert Assignment.objects.get(crowd_id=assignment).status == "rejected"
    assert not [one for one in blockers(one_hit.campaign) if "overturn" in str(one)]


def test_beyond_the_budget_nothing_is_overturned(one_hit: Stage) -> None:
    assignment = rejected_work(one_hit)
    account = account_of(one_hit.campaign)
    set_budget(one_hit.campaign, account.reserved_cents + account.spent_cents + PRICE - 1)
    seen = preview_approval(one_hit.campaign, assignment, now=now(one_hit))
    for refused in (
        lambda: check_covered(one_hit.campaign, seen),
        lambda: approve_manually(one_hit.campaign, assignment, now=now(one_hit)),
    ):
        with pytest.raises(UserError, match=r"costs \$0.19, but .* has \$0.18 left"):
            refused()
    assert one_hit.outbox("overturn") == []


class Mortal(MortalCrowd):
    def overturn(self, assignment_id: str) -> None:
        call: Any = super().overturn
        self._survive(lambda: call(assignment_id))


@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize("hours", [1, 30])
def test_who_dies_while_overturning_pays_once(
    one_hit: Stage, *, answered: bool, hours: int
) -> None:
    assignment = rejected_work(one_hit)
    approve_manually(one_hit.campaign, assignment, now=now(one_hit))
    crowd = Mortal(one_hit.mturk.url, calls=0, answered=answered)
    with pytest.raises(Killed):
        deliver(one_hit.campaign, crowd, clock=one_hit.mturk.clock.now, threads=1)
    one_hit.mturk.clock.move_on(hours=hours)
    one_hit.deliver()
    assert states(one_hit, "overturn") == ["done"]
    assert money(one_hit)[1:] == (0, PRICE)
    assert one_hit.mturk.spent_cents == PRICE


def test_the_reconciler_leaves_a_rejection_that_is_being_overturned(one_hit: Stage) -> None:
    """Somebody has done the same at the crowd meanwhile: it is paid and booked once."""
    assignment = rejected_work(one_hit)
    approve_manually(one_hit.campaign, assignment, now=now(one_hit))
    client = one_hit.mturk.crowd._client
    client.approve_assignment(AssignmentId=assignment, OverrideRejection=True)
    reconcile(one_hit.campaign, one_hit.mturk.crowd, full=True)
    one_hit.deliver()
    reconcile(one_hit.campaign, one_hit.mturk.crowd, full=True)
    assert money(one_hit)[1:] == (0, PRICE)
    assert one_hit.mturk.spent_cents == PRICE


def test_work_that_passed_is_refused_and_its_votes_are_bought_again(one_hit: Stage) -> None:
    assignment = one_hit.work("bob", 1)
    one_hit.work("ada", 1)
    reviewed(one_hit)
    seen = reject_manually(one_hit.campaign, assignment, reason=REASON)
    assert (seen.kind, seen.cents, seen.votes) == ("reject", PRICE, 5)
    one_hit.deliver()
    assert status_at_the_crowd(one_hit, assignment) == "Rejected"
    recompute(one_hit.campaign)
    (work,) = Assignment.with_rejection(Assignment.objects.filter(crowd_id=assignment))
    assert (work.status, work.passed, work.account) == ("rejected", True, "released")
    assert work.rejection == "manual"
    assert {row.votes for row in one_hit.campaign.triplets.all()} == {1}
    assert [message.new_assignments for message in one_hit.outbox("extend")] == [1]
    assert money(one_hit)[1:] == (PRICE, 0)
    assert one_hit.campaign.exclusions.count() == 0


def test_a_manual_rejection_counts_for_no_exclusion(one_hit: Stage) -> None:
    """Three reviews are enough for the rule here; the controls of this one were right."""
    assignment = one_hit.work("bob", 1)
    reviewed(one_hit)
    reject_manually(one_hit.campaign, assignment, reason=REASON)
    one_hit.advance()
    reviews = Assignment.objects.filter(worker__worker_id="ABOB")
    assert [work.passed for work in reviews] == [True]
    assert not one_hit.campaign.exclusions.exists()


def test_votes_come_back_when_a_manual_rejection_is_overturned(one_hit: Stage) -> None:
    assignment = one_hit.work("bob", 1)
    reviewed(one_hit)
    reject_manually(one_hit.campaign, assignment, reason=REASON)
    one_hit.advance()
    one_hit.advance()
    assert {row.votes for row in one_hit.campaign.triplets.all()} == {0}
    seen = approve_manually(one_hit.campaign, assignment, now=now(one_hit))
    assert (seen.kind, seen.votes, seen.passed) == ("overturn", 5, True)
    one_hit.advance()
    assert {row.votes for row in one_hit.campaign.triplets.all()} == {1}
    assert money(one_hit)[1:] == (PRICE, 0)
    assert one_hit.mturk.spent_cents == PRICE


def test_before_the_review_nothing_is_decided_by_hand(one_hit: Stage) -> None:
    assignment = one_hit.work("bob", 1)
    fetch_submissions(one_hit.campaign, one_hit.mturk.crowd)
    with pytest.raises(UserError, match="not reviewed yet"):
        preview_approval(one_hit.campaign, assignment, now=now(one_hit))
    with pytest.raises(UserError, match="not reviewed yet"):
        preview_rejection(one_hit.campaign, assignment, reason=REASON)


def test_what_is_approved_can_be_neither_paid_again_nor_refused(one_hit: Stage) -> None:
    assignment = one_hit.work("bob", 1)
    one_hit.advance()
    with pytest.raises(UserError, match="approved already"):
        preview_approval(one_hit.campaign, assignment, now=now(one_hit))
    with pytest.raises(UserError, match="final at the crowd"):
        preview_rejection(one_hit.campaign, assignment, reason=REASON)


def test_a_decision_that_stands_is_not_taken_twice(one_hit: Stage) -> None:
    good, bad = one_hit.work("bob", 1), one_hit.work("eve", 1, slips=1)
    reviewed(one_hit)
    with pytest.raises(UserError, match="is approved already"):
        preview_approval(one_hit.campaign, good, now=now(one_hit))
    with pytest.raises(UserError, match="is rejected already"):
        preview_rejection(one_hit.campaign, bad, reason=REASON)


def test_a_decision_on_its_way_is_waited_for(one_hit: Stage) -> None:
    assignment = one_hit.work("eve", 1, slips=1)
    reviewed(one_hit)
    one_hit.campaign.outbox.filter(kind="reject").update(
        state="claimed", first_sent_at=datetime.now(UTC)
    )
    with pytest.raises(UserError, match=r"rejection .* is on its way"):
        approve_manually(one_hit.campaign, assignment, now=now(one_hit))
    assert states(one_hit, "approve") == []


@pytest.mark.parametrize("reason", ["", "   ", "x" * 1025])
def test_a_refusal_has_a_reason_that_the_crowd_carries(one_hit: Stage, reason: str) -> None:
    assignment = one_hit.work("bob", 1)
    reviewed(one_hit)
    with pytest.raises(UserError, match="give one of at most 1,024"):
        reject_manually(one_hit.campaign, assignment, reason=reason)


def test_another_campaign_s_work_is_unknown(one_hit: Stage) -> None:
    with pytest.raises(UserError, match="has no assignment '3ONE'"):
        preview_approval(one_hit.campaign, "3ONE", now=now(one_hit))
    with pytest.raises(UserError, match="has no assignment '3ONE'"):
        preview_rejection(one_hit.campaign, "3ONE", reason=REASON)


def test_one_may_change_one_s_mind_before_the_crowd_is_told(one_hit: Stage) -> None:
    assignment = one_hit.work("bob", 1)
    reviewed(one_hit)
    reject_manually(one_hit.campaign, assignment, reason=REASON)
    approve_manually(one_hit.campaign, assignment, now=now(one_hit))
    reject_manually(one_hit.campaign, assignment, reason=REASON)
    approve_manually(one_hit.campaign, assignment, now=now(one_hit))
    one_hit.advance()
    assert status_at_the_crowd(one_hit, assignment) == "Approved"
    assert {row.votes for row in one_hit.campaign.triplets.all()} == {1}
    assert states(one_hit, "approve") == ["cancelled", "cancelled", "done"]
    assert states(one_hit, "reject") == ["cancelled", "cancelled"]
