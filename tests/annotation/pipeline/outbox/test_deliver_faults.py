"""What a crowd that refuses, or does not answer, does to a delivery."""

import pytest

from annotation.analytics.campaign.progress import progress
from annotation.analytics.campaign.status import blockers
from annotation.models import OutboxMessage
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.collecting.review import review
from annotation.pipeline.outbox.claims import waiting
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing.lifecycle import pause
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.recompute import recompute
from annotation.protocol.screening.control import RejectionReason
from tests.conftest import SetStage, StartMTurk
from tests.worlds.mturk import LentCrowd
from tests.worlds.small_campaign import Stage, tie

pytestmark = pytest.mark.django_db


def test_an_unreachable_crowd_ends_the_pass_and_harms_nothing(stage: Stage) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    stage.mturk.stop()
    delivery = stage.deliver()
    assert (delivery.sent, delivery.failed) == (0, 0)
    assert str(delivery.stopped_by).startswith(f"MTurk cannot be reached at {stage.mturk.url} (")
    states = stage.campaign.outbox.order_by("pk").values_list("state", "attempts")
    assert list(states) == [("pending", 0)] * 5
    assert progress(stage.campaign)["blockers"] == [f"create, 5 times: {delivery.stopped_by}"]

    stage.mturk.start()
    assert stage.deliver().sent == 5
    assert stage.mturk.count("hits") == 5
    assert progress(stage.campaign)["blockers"] == []


def test_nothing_is_bought_while_the_account_cannot_pay_for_it(
    stage: Stage, start_mturk: StartMTurk
) -> None:
    """The balance was enough when it was published; then somebody else spent of it."""
    stage.mturk = start_mturk(balance_cents=190)
    publish(stage.campaign, stage.mturk.crowd)
    use_token(stage, "another", max_assignments=2)
    delivery = stage.deliver()
    assert (delivery.sent, waiting(stage.campaign), stage.mturk.count("hits")) == (0, 5, 1)
    assert str(delivery.stopped_by) == (
        f"10 more assignments cost $1.90, but the account at {stage.mturk.url} holds $1.52: "
        "top it up."
    )
    assert progress(stage.campaign)["blockers"] == [f"create, 5 times: {delivery.stopped_by}"]


class AskedForNothing(LentCrowd):
    def balance_cents(self) -> int:
        raise AssertionError("nothing is bought now")


def test_a_paused_campaign_asks_for_no_balance(stage: Stage) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    pause(stage.campaign)
    crowd = AskedForNothing(stage.mturk.url)
    delivery = deliver(stage.campaign, crowd, clock=stage.mturk.clock.now, threads=1)
    assert (delivery.sent, delivery.stopped_by) == (0, None)


class EarlierLook(LentCrowd):
    """The balance as it was before somebody else spent of it."""

    def balance_cents(self) -> int:
        return 190


def test_a_passing_fault_keeps_nothing_else_waiting(stage: Stage, start_mturk: StartMTurk) -> None:
    stage.mturk = start_mturk(balance_cents=190)
    publish(stage.campaign, stage.mturk.crowd)
    use_token(stage, "another", max_assignments=3)
    crowd = EarlierLook(stage.mturk.url)
    delivery = deliver(stage.campaign, crowd, clock=stage.mturk.clock.now, threads=1)
    assert (delivery.sent, delivery.failed, delivery.stopped_by) == (3, 0, None)
    states = stage.campaign.outbox.order_by("pk").values_list("state", "attempts")
    assert list(states) == [("done", 1)] * 3 + [("pending", 1)] * 2
    assert "2 times: MTurk refused" in str(progress(stage.campaign)["blockers"])
    assert "insufficient funds" in str(progress(stage.campaign)["blockers"])


def test_work_is_reviewed_although_the_account_cannot_pay_for_the_tie_break(
    set_stage: SetStage, start_mturk: StartMTurk
) -> None:
    stage = set_stage()
    stage.mturk = start_mturk(balance_cents=190)
    stage.publish()
    stage.work("ada", 1, 1)
    stage.work("bob", 1, 0)
    found = stage.advance()
    assert "1 more assignments cost $0.19" in str(found.stopped_by)
    assert (found.sent, found.waiting, found.finished) == (2, 1, False)
    assert progress(stage.campaign)["approved"] == 2


def use_token(stage: Stage, token: str, *, max_assignments: int = 1) -> None:
    """As another database on the same account would."""
    stage.mturk.crowd.create_hit(
        hit_type_id=stage.campaign.hit_type_id,
        url="https://quorum.example.org/other",
        max_assignments=max_assignments,
        lifetime_seconds=3600,
        token=token,
        annotation="somebody else's",
    )


def test_a_permanent_refusal_is_recorded_and_stops_nothing_else(stage: Stage) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    message = stage.outbox("create")[0]
    use_token(stage, message.token)
    delivery = stage.deliver()
    assert (delivery.sent, delivery.failed, delivery.stopped_by) == (4, 1, None)
    message.refresh_from_db()
    assert message.state == OutboxMessage.State.FAILED
    assert stage.deliver().sent == 0
    found = progress(stage.campaign)
    assert (found["messages_failed"], found["messages_waiting"], found["hits_published"]) == (
        1,
        0,
        4,
    )
    [report] = blockers(stage.campaign)
    assert report.startswith(f"create, once: {message.error} (refused, tried once; ")
    assert "its token has made the HIT" in message.error


def test_publishing_again_retries_what_failed(stage: Stage) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    use_token(stage, stage.outbox("create")[0].token)
    stage.deliver()
    assert stage.publish().failed == 1
    stage.mturk.clock.move_on(hours=25)  # the crowd has forgotten who used the token
    assert stage.publish().sent == 1
    found = progress(stage.campaign)
    assert (found["hits_published"], found["messages_failed"], found["blockers"]) == (5, 0, [])
    assert stage.mturk.count("hits") == 6


def test_a_hit_that_others_have_grown_fails_for_good(one_hit: Stage) -> None:
    tie(one_hit)
    crowd_id = one_hit.hit(1).crowd_id
    assert crowd_id
    one_hit.mturk.crowd.extend_hit(crowd_id, extra=7, token="by hand")
    assert one_hit.deliver().failed == 1
    report = str(progress(one_hit.campaign)["blockers"])
    assert "InvalidMaximumAssignmentsIncrease" in report


def test_what_the_crowd_approved_meanwhile_is_not_a_fault(one_hit: Stage) -> None:
    """Work not reviewed in time is approved by the crowd: that is final, and costs money."""
    failed = one_hit.work("eve", 1, slips=1)
    fetch_submissions(one_hit.campaign, one_hit.mturk.crowd)
    review(one_hit.campaign)
    one_hit.mturk.crowd.approve(failed)
    delivery = one_hit.deliver()
    assert (delivery.sent, delivery.failed) == (1, 0)
    found = progress(one_hit.campaign)
    assert (found["approved"], found["rejected"], found["failed_controls"]) == (1, 0, 1)
    assert found["spent_cents"] == one_hit.mturk.spent_cents == 19


def test_what_the_crowd_rejected_meanwhile_loses_its_votes(one_hit: Stage) -> None:
    """Somebody refuses by hand what had passed: the label it made is not the record's any more."""
    for name in ("ada", "bob"):
        work = one_hit.work(name, 1)
    fetch_submissions(one_hit.campaign, one_hit.mturk.crowd)
    recompute(one_hit.campaign)
    one_hit.mturk.crowd.reject(work, reason="by hand", why=RejectionReason.MANUAL)
    assert one_hit.deliver().failed == 0
    found = one_hit.advance()
    assert (found.open, found.assignments_requested) == (5, 1)
    assert progress(one_hit.campaign)["rejected"] == 1
    assert progress(one_hit.campaign)["spent_cents"] == one_hit.mturk.spent_cents == 19


def test_exclusion_by_block_shuts_the_worker_out_at_the_crowd(set_stage: SetStage) -> None:
    stage = set_stage(exclude_by="block", min_assignments=1)
    stage.publish()
    assert stage.campaign.exclusion_id == ""
    stage.work("eve", 1, slips=1)
    stage.advance()
    (blocked,) = stage.outbox("exclude")
    assert (blocked.state, blocked.reason) == (
        OutboxMessage.State.DONE,
        "1 of your first 1 tasks failed their check questions, more than the 10% this campaign"
        " allows.",
    )
    assert stage.accept("eve", 2) is None
    assert stage.accept("ada", 2)
