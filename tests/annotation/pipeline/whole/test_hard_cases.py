"""What happens at the crowd between two looks, and calls that come too late or never."""

from typing import Any

import pytest

from annotation.crowd.port import CrowdError
from annotation.jobs.tasks import _waiting
from annotation.models import Account, Assignment, Campaign, ChangedHit, OutboxMessage
from annotation.pipeline.advance import Pass, advance
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.ledger.reservations import account_of
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing.lifecycle import expire, prolong
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.recompute import recompute
from annotation.protocol.screening.control import RejectionReason
from tests.annotation.pipeline.collecting.test_collect import FaultyCrowd
from tests.annotation.pipeline.reconcile.drift import compare, forget_there
from tests.conftest import SetStage
from tests.worlds.mturk import Killed, LentCrowd, MortalCrowd
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db


def money(stage: Stage) -> Account:
    return account_of(stage.campaign)


def faulty(stage: Stage, *, permanent: bool) -> FaultyCrowd:
    return FaultyCrowd(stage.mturk.url, str(stage.hit(1).crowd_id), permanent=permanent)


def look_with(stage: Stage, crowd: LentCrowd) -> Pass:
    return advance(stage.campaign, crowd, clock=stage.mturk.clock.now)


def test_work_on_a_hit_whose_publication_was_not_answered_is_known(one_hit: Stage) -> None:
    """Else its workers' later work would be reviewed before this, and exclude in a wrong order."""
    publish(one_hit.campaign, one_hit.mturk.crowd)
    crowd_id = one_hit.hit(1).crowd_id
    one_hit.work("ada", 1)
    one_hit.campaign.hits.update(crowd_id=None, published_at=None, expires_at=None)
    assert fetch_submissions(one_hit.campaign, one_hit.mturk.crowd).new == 1
    assert one_hit.hit(1).crowd_id == crowd_id


def test_who_died_while_publishing_hides_no_work(stage: Stage) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    crowd = MortalCrowd(stage.mturk.url, calls=0, answered=True)
    with pytest.raises(Killed):
        deliver(stage.campaign, crowd, clock=stage.mturk.clock.now, threads=1)
    ((hit_id,),) = stage.mturk.rows("SELECT hit_id FROM hits")
    stage.mturk.person("ada").work(hit_id, {"item-x": "1"})
    assert stage.advance().new == 1
    stage.mturk.clock.move_on(hours=1)  # the claims of the dead run out
    assert stage.advance().sent >= 4
    assert stage.mturk.count("hits") == 5


def test_work_that_cannot_be_read_keeps_its_hit_open_and_its_money(one_hit: Stage) -> None:
    for name in ("ada", "bob"):
        one_hit.work(name, 1)
    crowd = faulty(one_hit, permanent=True)
    for _ in range(2):
        one_hit.mturk.clock.move_on(days=8)
        look_with(one_hit, crowd)
    assert (one_hit.hit(1).fault, one_hit.hit(1).closed_at) == ("not this one", None)
    assert money(one_hit).reserved_cents == 3 * 19
    assert one_hit.advance().new == 2


def test_a_hit_that_fails_for_long_keeps_no_review_waiting(stage: Stage) -> None:
    stage.publish()
    stage.work("ada", 1)
    stage.work("ada", 2)
    crowd = faulty(stage, permanent=False)
    first = look_with(stage, crowd)
    assert (first.passed, first.stopped_by) == (0, "not this one")
    stage.mturk.clock.move_on(hours=2)
    assert look_with(stage, crowd).passed == 1


def test_decisions_go_out_while_the_balance_cannot_be_asked(stage: Stage) -> None:
    class Secretive(LentCrowd):
        def balance_cents(self) -> int:
            raise CrowdError("no right to ask", permanent=True)

    stage.publish()
    stage.work("ada", 1)
    fetch_submissions(stage.campaign, stage.mturk.crowd)
    recompute(stage.campaign)
    OutboxMessage.objects.create(
        campaign=stage.campaign, kind="extend", token="x", hit=stage.hit(2), new_assignments=1
    )
    found = deliver(stage.campaign, Secretive(stage.mturk.url), clock=stage.mturk.clock.now)
    assert (found.sent, found.stopped_by) == (1, "no right to ask")
    assert Assignment.objects.get().status == Assignment.Status.APPROVED


def test_a_prolongation_sent_after_its_own_end_frees_its_money(stage: Stage) -> None:
    stage.publish()
    stage.mturk.clock.move_on(days=8)
    stage.advance()
    prolong(stage.campaign, days=1, now=stage.mturk.clock.now())
    assert money(stage).reserved_cents == 10 * 19
    stage.mturk.clock.move_on(days=2)
    stage.deliver()
    assert money(stage).reserved_cents == stage.mturk.on_hold_cents == 0


def test_a_refused_prolongation_frees_its_money(stage: Stage) -> None:
    class Refuses(LentCrowd):
        def set_expiration(self, hit_id: str, at: Any) -> None:
            raise CrowdError("never", permanent=True)

    stage.publish()
    stage.mturk.clock.move_on(days=8)
    stage.advance()
    prolong(stage.campaign, days=5, now=stage.mturk.clock.now())
    deliver(stage.campaign, Refuses(stage.mturk.url), clock=stage.mturk.clock.now)
    assert money(stage).reserved_cents == 0


def test_labels_that_a_late_answer_made_stale_get_their_pass(one_hit: Stage) -> None:
    works = [one_hit.work(name, 1) for name in ("ada", "bob")]
    fetch_submissions(one_hit.campaign, one_hit.mturk.crowd)
    recompute(one_hit.campaign)
    one_hit.mturk.crowd.reject(works[0], reason="by hand", why=RejectionReason.MANUAL)
    one_hit.deliver()
    assert one_hit.campaign in _waiting()
    one_hit.advance()
    assert set(one_hit.labels().values()) == {"open"}
    one_hit.advance()  # what was asked for in its place is known now
    assert not ChangedHit.objects.exists()


def test_what_was_let_expire_is_not_bought_again_when_the_crowd_forgets_it(stage: Stage) -> None:
    stage.publish()
    expire(stage.campaign, stage.mturk.clock.now())
    for _ in range(2):
        stage.advance()
    stage.mturk.clock.move_on(days=121)
    forget_there(stage, 1)
    compare(stage)
    assert money(stage).reserved_cents == 0


def test_a_place_added_by_hand_is_not_bought_for(one_hit: Stage) -> None:
    crowd_id = str(one_hit.hit(1).crowd_id)
    one_hit.mturk.crowd.extend_hit(crowd_id, extra=1, token="by hand")
    one_hit.work("ada", 1, 0)
    one_hit.work("bob", 1, 1)
    one_hit.work("cara", 1, 0, slips=1)
    assert one_hit.advance().assignments_requested == 1


def test_a_rejection_overturned_before_the_review_is_booked_once(one_hit: Stage) -> None:
    work = one_hit.work("ada", 1)
    one_hit.mturk.crowd.reject(work, reason="by hand", why=RejectionReason.MANUAL)
    fetch_submissions(one_hit.campaign, one_hit.mturk.crowd)
    client = one_hit.mturk.crowd._client
    client.approve_assignment(AssignmentId=work, OverrideRejection=True)
    compare(one_hit, full=True)
    one_hit.advance()
    account = money(one_hit)
    assert (account.paid_cents, account.discarded_cents) == (19, 0)
    assert one_hit.mturk.spent_cents == 19
    assert account.reserved_cents == one_hit.mturk.on_hold_cents + 19  # the tie's place


def test_a_campaign_of_before_learns_who_is_known(set_stage: SetStage) -> None:
    stage = set_stage(tie_mode="repack")
    stage.publish()
    Campaign.objects.update(known_id="")
    stage.campaign.refresh_from_db()
    for number in range(1, 6):
        stage.work("ada", number, 0)
        stage.work("bob", number, 1)
    stage.advance()
    repacked = stage.campaign.hits.filter(repack=True).order_by("number")[0]
    assert stage.accept("ada", repacked.number) is None
