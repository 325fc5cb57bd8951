import pytest

from annotation.models import Assignment, Intent
from annotation.pipeline.collect import collect
from annotation.pipeline.create import get_campaign
from annotation.pipeline.deliver import CLAIM, deliver, waiting
from annotation.pipeline.label import label
from annotation.pipeline.publish import publish
from annotation.pipeline.review import review
from annotation.progress import progress
from tests.conftest import SetStage, StartMTurk
from tests.mturk import Killed, MortalCrowd
from tests.small_campaign import Stage
from tests.threads import together

pytestmark = pytest.mark.django_db

AFTER_A_CLAIM = CLAIM.total_seconds() + 1


def die(stage: Stage, *, calls: int = 0, answered: bool = True) -> None:
    """A process that delivers is killed after `calls` calls, before or after the next is made."""
    crowd = MortalCrowd(stage.mturk.url, calls=calls, answered=answered)
    with pytest.raises(Killed):
        deliver(stage.campaign, crowd, clock=stage.mturk.clock.now)


def write_intents(stage: Stage) -> None:
    publish(stage.campaign, stage.mturk.crowd)


def with_a_tie(stage: Stage) -> None:
    """The wish for one more place is written down, and what came before it is done."""
    stage.work("ada", 1, 0)
    stage.work("bob", 1, lambda query, _: int(query == "bread"))
    collect(stage.campaign, stage.mturk.crowd)
    review(stage.campaign)
    stage.deliver()
    label(stage.campaign)
    assert [intent.kind for intent in stage.campaign.intents.exclude(state="done")] == ["extend"]


def places(stage: Stage) -> int:
    return int(stage.mturk.rows("SELECT max_assignments FROM hits")[0][0])


@pytest.mark.parametrize("answered", [True, False])
def test_who_is_killed_while_publishing_leaves_each_hit_once(stage: Stage, answered: bool) -> None:
    write_intents(stage)
    die(stage, calls=2, answered=answered)
    assert stage.mturk.count("hits") == 2 + answered
    assert stage.deliver().sent == 2  # the claim of the dead is respected for a while
    stage.mturk.clock.move_on(seconds=AFTER_A_CLAIM)
    assert stage.deliver().sent == 1
    assert stage.mturk.count("hits") == 5
    keys = stage.mturk.rows("SELECT requester_annotation, hit_id FROM hits")
    assert sorted(keys) == sorted(stage.campaign.hits.values_list("key", "crowd_id"))


def test_a_living_claim_is_respected(stage: Stage) -> None:
    write_intents(stage)
    first = stage.campaign.intents.first()
    assert first is not None
    first.state, first.claimed_at = Intent.State.CLAIMED, stage.mturk.clock.now()
    first.save()
    assert stage.deliver().sent == 4
    assert waiting(stage.campaign) == 1
    stage.mturk.clock.move_on(seconds=CLAIM.total_seconds() - 60)
    assert stage.deliver().sent == 0


@pytest.mark.parametrize("hours", [23.5, 25, 24 * 6])
def test_a_hit_whose_token_is_forgotten_is_looked_up(stage: Stage, hours: float) -> None:
    write_intents(stage)
    die(stage, calls=1)
    stage.mturk.clock.move_on(hours=hours)
    assert stage.deliver().sent == 4
    assert stage.mturk.count("hits") == 5
    keys = stage.mturk.rows("SELECT requester_annotation, hit_id FROM hits")
    assert sorted(keys) == sorted(stage.campaign.hits.values_list("key", "crowd_id"))


def test_the_crowd_would_have_made_a_second_hit_by_then(stage: Stage) -> None:
    """What the test above guards against is real."""
    stage.publish()
    stage.mturk.clock.move_on(hours=25)
    intent = stage.intents("create")[0]
    assert intent.hit is not None
    again = stage.mturk.crowd.create_hit(
        hit_type_id=stage.campaign.hit_type_id,
        url="https://quorum.example.org/hit/1",
        places=2,
        lifetime_seconds=3600,
        token=intent.token,
        annotation=intent.hit.key,
    )
    assert again != intent.hit.crowd_id
    assert stage.mturk.count("hits") == 6


def test_a_hit_never_made_is_made_however_late(stage: Stage) -> None:
    write_intents(stage)
    die(stage, answered=False)
    stage.mturk.clock.move_on(hours=30)
    assert stage.deliver().sent == 5
    assert stage.mturk.count("hits") == 5


@pytest.mark.parametrize("hours", [1, 23.5, 30])
@pytest.mark.parametrize("answered", [True, False])
def test_a_hit_grows_once_whoever_dies_meanwhile(
    one_hit: Stage, hours: float, answered: bool
) -> None:
    with_a_tie(one_hit)
    die(one_hit, answered=answered)
    assert places(one_hit) == 2 + answered
    one_hit.mturk.clock.move_on(hours=hours)
    assert one_hit.deliver().sent == 1
    assert places(one_hit) == 3
    assert one_hit.hit(1).places == 3


@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize("hours", [1, 30])
def test_a_decision_is_made_once_whoever_dies_meanwhile(
    one_hit: Stage, hours: float, answered: bool
) -> None:
    one_hit.work("ada", 1)
    one_hit.work("eve", 1, slips=1)
    collect(one_hit.campaign, one_hit.mturk.crowd)
    review(one_hit.campaign)
    for _ in range(2):  # at the approval, then at the rejection
        die(one_hit, answered=answered)
        one_hit.mturk.clock.move_on(hours=hours)
    one_hit.deliver()
    statuses = one_hit.mturk.rows("SELECT worker_id, status FROM assignments ORDER BY worker_id")
    assert statuses == [("AADA", "Approved"), ("AEVE", "Rejected")]
    stored = Assignment.objects.order_by("worker__worker_id").values_list("status", flat=True)
    assert list(stored) == ["approved", "rejected"]
    assert progress(one_hit.campaign)["spent_cents"] == one_hit.mturk.spent_cents == 19


@pytest.mark.django_db(transaction=True)
def test_two_who_deliver_at_once_make_each_call_once(stage: Stage) -> None:
    write_intents(stage)

    def deliver_too() -> int:
        return deliver(get_campaign(stage.campaign.name), stage.mturk.crowd).sent

    assert sum(together(deliver_too, deliver_too)) == 5
    assert stage.mturk.count("hits") == 5
    assert {intent.attempts for intent in stage.intents("create")} == {1}


def test_an_unreachable_crowd_ends_the_pass_and_harms_nothing(stage: Stage) -> None:
    write_intents(stage)
    stage.mturk.stop()
    delivery = stage.deliver()
    assert (delivery.sent, delivery.failed) == (0, 0)
    assert str(delivery.stopped_by).startswith(f"MTurk cannot be reached at {stage.mturk.url} (")
    states = stage.campaign.intents.order_by("pk").values_list("state", "attempts")
    assert list(states) == [("pending", 1)] + [("pending", 0)] * 4
    assert progress(stage.campaign)["stuck"] == [f"create, 1 times: {delivery.stopped_by}"]

    stage.mturk.start()
    assert stage.deliver().sent == 5
    assert stage.mturk.count("hits") == 5
    assert progress(stage.campaign)["stuck"] == []


def test_an_empty_account_ends_the_pass(stage: Stage, start_mturk: StartMTurk) -> None:
    """The balance was enough when it was looked at; then somebody else spent of it."""
    stage.mturk = start_mturk(balance_cents=190)
    write_intents(stage)
    spend(stage, cents=38)
    delivery = stage.deliver()
    assert delivery.sent == 4
    assert "insufficient funds" in str(delivery.stopped_by)
    assert waiting(stage.campaign) == 1


def spend(stage: Stage, *, cents: int) -> None:
    intent = stage.intents("create")[0]
    stage.mturk.crowd.create_hit(
        hit_type_id=stage.campaign.hit_type_id,
        url="https://quorum.example.org/other",
        places=cents // 19,
        lifetime_seconds=3600,
        token=f"another than {intent.pk}",
        annotation="somebody else's",
    )


def take_the_token(stage: Stage) -> Intent:
    """Another database on the same account has used the first HIT's token."""
    intent = stage.intents("create")[0]
    stage.mturk.crowd.create_hit(
        hit_type_id=stage.campaign.hit_type_id,
        url="https://quorum.example.org/other",
        places=1,
        lifetime_seconds=3600,
        token=intent.token,
        annotation="somebody else's",
    )
    return intent


def test_a_permanent_refusal_is_recorded_and_stops_nothing_else(stage: Stage) -> None:
    write_intents(stage)
    intent = take_the_token(stage)
    delivery = stage.deliver()
    assert (delivery.sent, delivery.failed, delivery.stopped_by) == (4, 1, None)
    intent.refresh_from_db()
    assert intent.state == Intent.State.FAILED
    assert stage.deliver().sent == 0
    found = progress(stage.campaign)
    assert (found["calls_failed"], found["calls_waiting"], found["published"]) == (1, 0, 4)
    assert found["stuck"] == [f"create, 1 times: {intent.error}"]
    assert "its token has made the HIT" in intent.error


def test_publishing_again_retries_what_failed(stage: Stage) -> None:
    write_intents(stage)
    take_the_token(stage)
    stage.deliver()
    assert stage.publish().failed == 1
    stage.mturk.clock.move_on(hours=25)  # the crowd has forgotten who used the token
    assert stage.publish().sent == 1
    found = progress(stage.campaign)
    assert (found["published"], found["calls_failed"], found["stuck"]) == (5, 0, [])
    assert stage.mturk.count("hits") == 6


def test_a_hit_that_others_have_grown_fails_for_good(one_hit: Stage) -> None:
    with_a_tie(one_hit)
    crowd_id = one_hit.hit(1).crowd_id
    assert crowd_id
    one_hit.mturk.crowd.extend_hit(crowd_id, extra=7, token="by hand")
    assert one_hit.deliver().failed == 1
    (stuck,) = progress(one_hit.campaign)["stuck"]
    assert "InvalidMaximumAssignmentsIncrease" in stuck


def test_what_the_crowd_approved_meanwhile_is_not_a_fault(one_hit: Stage) -> None:
    """Work not reviewed in time is approved by the crowd: that is final, and costs money."""
    failed = one_hit.work("eve", 1, slips=1)
    collect(one_hit.campaign, one_hit.mturk.crowd)
    review(one_hit.campaign)
    one_hit.mturk.crowd.approve(failed)
    delivery = one_hit.deliver()
    assert (delivery.sent, delivery.failed) == (1, 0)
    found = progress(one_hit.campaign)
    assert (found["approved"], found["rejected"], found["failed_controls"]) == (1, 0, 1)
    assert found["spent_cents"] == one_hit.mturk.spent_cents == 19


def test_exclusion_by_block_names_the_worker_to_the_crowd(set_stage: SetStage) -> None:
    """The emulator knows no blocks, so the refusal shows what was asked of it."""
    stage = set_stage(exclude_by="block", min_assignments=1, candidates_per_query=1)
    stage.publish()
    assert stage.campaign.exclusion_id == ""
    stage.work("eve", 1, slips=1)
    stage.advance()
    (blocked,) = stage.intents("exclude")
    assert blocked.state == Intent.State.FAILED
    assert "CreateWorkerBlock" in blocked.error
    assert blocked.reason == (
        "1 of 1 HITs failed their check questions, more than the 10% this campaign allows."
    )


def test_progress_counts_the_calls(stage: Stage) -> None:
    write_intents(stage)
    steps: list[int] = []
    deliver(stage.campaign, stage.mturk.crowd, progress=steps.append)
    assert steps == [1] * 5
