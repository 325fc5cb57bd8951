from datetime import timedelta
from threading import Event
from typing import Any

import pytest
from django.conf import settings

from annotation.analytics.campaign.progress import progress
from annotation.models import Assignment, OutboxMessage
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.collecting.review import review
from annotation.pipeline.outbox import claims
from annotation.pipeline.outbox.claims import waiting
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.setup.create import get_campaign
from tests.support.threads import together
from tests.worlds.mturk import Killed, LentCrowd, MortalCrowd
from tests.worlds.small_campaign import Stage, tie

pytestmark = pytest.mark.django_db

AFTER_A_CLAIM = settings.CLAIM_SECONDS + 1


def die(stage: Stage, *, calls: int = 0, answered: bool = True) -> None:
    """A process that delivers is killed after `calls` calls, before or after the next is made."""
    crowd = MortalCrowd(stage.mturk.url, calls=calls, answered=answered)
    with pytest.raises(Killed):
        deliver(stage.campaign, crowd, clock=stage.mturk.clock.now, threads=1)


def test_slow_calls_do_not_let_their_claims_run_out(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation.pipeline.outbox.threads.BEATS", 1e12)
    publish(stage.campaign, stage.mturk.crowd)
    clock = stage.mturk.clock
    begun = clock.now()
    renewed = Event()

    def renew(*arguments: Any) -> None:
        claims.renew(*arguments)
        renewed.set()

    class SlowCrowd(LentCrowd):
        def create_hit(self, **hit: Any) -> str:
            clock.move_on(seconds=settings.CLAIM_SECONDS)
            renewed.clear()
            assert renewed.wait(30)  # so slow is the call that a beat falls into it
            return super().create_hit(**hit)

    monkeypatch.setattr("annotation.pipeline.outbox.deliver.renew", renew)
    assert deliver(stage.campaign, SlowCrowd(stage.mturk.url), clock=clock.now, threads=1).sent == 5
    claimed = stage.campaign.outbox.values_list("claimed_at", flat=True)
    assert begun + timedelta(seconds=settings.CLAIM_SECONDS) <= min(filter(None, claimed))


def test_what_each_batch_brought_is_recorded(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.pipeline.outbox.threads.CALLS_A_THREAD", 2)
    publish(stage.campaign, stage.mturk.crowd)
    assert (
        deliver(stage.campaign, stage.mturk.crowd, clock=stage.mturk.clock.now, threads=1).sent == 5
    )
    assert waiting(stage.campaign) == 0
    keys = stage.mturk.rows("SELECT requester_annotation, hit_id FROM hits")
    assert sorted(keys) == sorted(stage.campaign.hits.values_list("key", "crowd_id"))


def test_a_process_that_dies_has_claimed_few_calls(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation.pipeline.outbox.threads.FEWEST_CALLS_A_THREAD", 2)
    publish(stage.campaign, stage.mturk.crowd)
    die(stage)
    assert stage.campaign.outbox.filter(state=OutboxMessage.State.CLAIMED).count() == 2


def max_assignments(stage: Stage) -> int:
    return int(stage.mturk.rows("SELECT max_assignments FROM hits")[0][0])


@pytest.mark.parametrize("answered", [True, False])
def test_who_is_killed_while_publishing_leaves_each_hit_once(stage: Stage, answered: bool) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    die(stage, calls=2, answered=answered)
    assert stage.mturk.count("hits") == 2 + answered
    assert stage.deliver().sent == 0  # the claims of the dead are respected for a while
    stage.mturk.clock.move_on(seconds=AFTER_A_CLAIM)
    assert stage.deliver().sent == 5
    assert stage.mturk.count("hits") == 5
    keys = stage.mturk.rows("SELECT requester_annotation, hit_id FROM hits")
    assert sorted(keys) == sorted(stage.campaign.hits.values_list("key", "crowd_id"))


def test_a_living_claim_is_respected(stage: Stage) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    first = stage.campaign.outbox.first()
    assert first is not None
    first.state, first.claimed_at = OutboxMessage.State.CLAIMED, stage.mturk.clock.now()
    first.save()
    assert stage.deliver().sent == 4
    assert waiting(stage.campaign) == 1
    stage.mturk.clock.move_on(seconds=settings.CLAIM_SECONDS - 5)
    assert stage.deliver().sent == 0


@pytest.mark.parametrize("hours", [23.5, 25, 24 * 6])
def test_a_hit_whose_token_is_forgotten_is_looked_up(stage: Stage, hours: float) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    die(stage, calls=1)
    stage.mturk.clock.move_on(hours=hours)
    assert stage.deliver().sent == 5
    assert stage.mturk.count("hits") == 5
    keys = stage.mturk.rows("SELECT requester_annotation, hit_id FROM hits")
    assert sorted(keys) == sorted(stage.campaign.hits.values_list("key", "crowd_id"))


@pytest.mark.parametrize("answered", [True, False])
def test_a_forgotten_extension_is_made_once_where_the_publication_is_unanswered_too(
    one_hit: Stage, answered: bool
) -> None:
    """Both senders died; the HIT was met at the crowd meanwhile and judged."""
    tie(one_hit)
    one_hit.campaign.outbox.filter(kind="create").update(
        state="claimed", claimed_at=one_hit.mturk.clock.now()
    )
    die(one_hit, answered=answered)
    assert max_assignments(one_hit) == 2 + answered
    one_hit.mturk.clock.move_on(hours=25)
    one_hit.deliver()
    assert max_assignments(one_hit) == 3
    assert waiting(one_hit.campaign) == 0


def test_the_crowd_would_have_made_a_second_hit_by_then(stage: Stage) -> None:
    """What the test above guards against is real."""
    stage.publish()
    stage.mturk.clock.move_on(hours=25)
    message = stage.outbox("create")[0]
    assert message.hit is not None
    again = stage.mturk.crowd.create_hit(
        hit_type_id=stage.campaign.hit_type_id,
        url="https://quorum.example.org/hit/1",
        max_assignments=2,
        lifetime_seconds=3600,
        token=message.token,
        annotation=message.hit.key,
    )
    assert again != message.hit.crowd_id
    assert stage.mturk.count("hits") == 6


def test_a_hit_never_made_is_made_however_late(stage: Stage) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    die(stage, answered=False)
    stage.mturk.clock.move_on(hours=30)
    assert stage.deliver().sent == 5
    assert stage.mturk.count("hits") == 5


@pytest.mark.parametrize("hours", [1, 23.5, 30])
@pytest.mark.parametrize("answered", [True, False])
def test_a_hit_grows_once_whoever_dies_meanwhile(
    one_hit: Stage, hours: float, answered: bool
) -> None:
    tie(one_hit)
    die(one_hit, answered=answered)
    assert max_assignments(one_hit) == 2 + answered
    one_hit.mturk.clock.move_on(hours=hours)
    assert one_hit.deliver().sent == 1
    assert max_assignments(one_hit) == 3
    assert one_hit.hit(1).max_assignments == 3


@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize("hours", [1, 30])
def test_a_decision_is_made_once_whoever_dies_meanwhile(
    one_hit: Stage, hours: float, answered: bool
) -> None:
    one_hit.work("ada", 1)
    one_hit.work("eve", 1, slips=1)
    fetch_submissions(one_hit.campaign, one_hit.mturk.crowd)
    review(one_hit.campaign)
    for calls in range(2):  # at the approval, then at the rejection
        die(one_hit, calls=calls, answered=answered)
        one_hit.mturk.clock.move_on(hours=hours)
    one_hit.deliver()
    statuses = one_hit.mturk.rows("SELECT worker_id, status FROM assignments ORDER BY worker_id")
    assert statuses == [("AADA", "Approved"), ("AEVE", "Rejected")]
    stored = Assignment.objects.order_by("worker__worker_id").values_list("status", flat=True)
    assert list(stored) == ["approved", "rejected"]
    assert progress(one_hit.campaign)["spent_cents"] == one_hit.mturk.spent_cents == 19


def test_who_looked_before_it_was_published_delivers_it_all_the_same(stage: Stage) -> None:
    """A pass may begin while somebody publishes: only the HIT type of now will do."""
    looked_at_before = get_campaign(stage.campaign.name)
    publish(stage.campaign, stage.mturk.crowd)
    assert deliver(looked_at_before, stage.mturk.crowd).sent == 5


@pytest.mark.django_db(transaction=True)
def test_two_who_deliver_at_once_make_each_call_once(stage: Stage) -> None:
    publish(stage.campaign, stage.mturk.crowd)

    def deliver_too() -> int:
        return deliver(get_campaign(stage.campaign.name), stage.mturk.crowd).sent

    assert sum(together(deliver_too, deliver_too)) == 5
    assert stage.mturk.count("hits") == 5
    assert {message.attempts for message in stage.outbox("create")} == {1}


def test_progress_counts_the_calls(stage: Stage) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    steps: list[int] = []
    deliver(stage.campaign, stage.mturk.crowd, progress=steps.append)
    assert sum(steps) == 5
