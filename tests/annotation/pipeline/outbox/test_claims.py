"""Whose turn it is: claims, waiting times, and calls that must keep their order."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings
from django.db.models import Q

from annotation.crowd.port import CrowdError
from annotation.models import OutboxMessage, Worker
from annotation.pipeline.outbox.claims import (
    LONGEST_WAIT,
    claim,
    record_done,
    record_fault,
    renew,
    wait_after,
)
from annotation.pipeline.publishing.publish import publish
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
NOTHING = Q(pk=None)
LATE = CrowdError("not now", permanent=False)


@pytest.fixture
def published(stage: Stage) -> Stage:
    publish(stage.campaign, stage.mturk.crowd)
    return stage


def claimed(stage: Stage, now: datetime = NOW, size: int = 10) -> list[OutboxMessage]:
    return claim(stage.campaign, now, uuid.uuid4().hex, held=NOTHING, size=size)


def test_a_batch_is_the_oldest_messages_and_nobody_gets_them_again(published: Stage) -> None:
    first = claimed(published, size=3)
    assert [message.hit.number for message in first if message.hit] == [1, 2, 3]
    assert [message.hit.number for message in claimed(published) if message.hit] == [4, 5]
    assert claimed(published) == []


def test_held_messages_are_left_where_they_are(published: Stage) -> None:
    held = Q(hit__number__in=[1, 2])
    batch = claim(published.campaign, NOW, "theirs", held=held, size=10)
    assert [message.hit.number for message in batch if message.hit] == [3, 4, 5]


def test_a_claim_runs_out_far_below_the_life_of_a_token(published: Stage) -> None:
    claimed(published)
    life = timedelta(seconds=settings.CLAIM_SECONDS)
    assert claimed(published, NOW + life) == []
    again = claimed(published, NOW + life + timedelta(seconds=1))
    assert [message.attempts for message in again] == [2] * 5
    assert {message.first_sent_at for message in again} == {NOW}
    assert life < timedelta(hours=1)


def test_a_pass_does_not_claim_its_own_messages_again(published: Stage) -> None:
    """They may be answered and not yet recorded."""
    batch = claim(published.campaign, NOW, "mine", held=NOTHING, size=3)
    later = NOW + timedelta(seconds=settings.CLAIM_SECONDS + 1)
    rest = claim(published.campaign, later, "mine", held=NOTHING, size=10)
    assert {message.pk for message in batch}.isdisjoint(message.pk for message in rest)
    assert len(rest) == 2


def test_a_claim_that_is_renewed_does_not_run_out(published: Stage) -> None:
    batch = claimed(published)
    life = timedelta(seconds=settings.CLAIM_SECONDS)
    renew(batch, NOW + life)
    assert claimed(published, NOW + 2 * life) == []
    assert len(claimed(published, NOW + 2 * life + timedelta(seconds=1))) == 5


def test_who_lost_a_claim_does_not_renew_the_other_s(published: Stage) -> None:
    lost = claimed(published)
    later = NOW + timedelta(hours=1)
    assert claimed(published, later) == lost
    renew(lost, later + timedelta(hours=1))
    assert set(published.campaign.outbox.values_list("claimed_at", flat=True)) == {later}


def test_a_passing_fault_waits_for_its_next_turn_with_its_reason(published: Stage) -> None:
    (message,) = claimed(published, size=1)
    record_fault(message, LATE, NOW)
    message.refresh_from_db()
    assert (message.state, message.error, message.attempts) == (
        OutboxMessage.State.PENDING,
        "not now",
        1,
    )
    assert message.retry_at is not None
    assert NOW < message.retry_at <= NOW + timedelta(seconds=2)
    assert message not in claimed(published)
    assert claimed(published, message.retry_at) == [message]


def test_a_permanent_fault_is_not_sent_again(published: Stage) -> None:
    (message,) = claimed(published, size=1)
    record_fault(message, CrowdError("never", permanent=True), NOW)
    assert message not in claimed(published, NOW + timedelta(days=300))
    message.refresh_from_db()
    assert (message.state, message.error) == (OutboxMessage.State.FAILED, "never")


def test_who_lost_a_claim_records_no_fault_over_the_other_s_success(published: Stage) -> None:
    (lost,) = claimed(published, size=1)
    (taken,) = claimed(published, NOW + timedelta(hours=1), size=1)
    assert taken == lost
    record_done([taken])
    record_fault(lost, LATE, NOW)
    taken.refresh_from_db()
    assert (taken.state, taken.error) == (OutboxMessage.State.DONE, "")


@pytest.mark.parametrize(("attempts", "most"), [(1, 2), (2, 4), (3, 8), (9, 512), (500, 900)])
def test_each_wait_is_about_twice_the_last_one_up_to_a_limit(attempts: int, most: int) -> None:
    waits = {wait_after(attempts) for _ in range(200)}
    assert timedelta(seconds=most / 2) <= min(waits) < max(waits) <= timedelta(seconds=most)
    assert max(waits) <= LONGEST_WAIT
    assert len(waits) > 100  # nobody comes back at the same moment as others


def test_who_passed_the_qualification_test_waits_for_everything_else(published: Stage) -> None:
    ada = Worker.objects.create(crowd="mturk", worker_id="AADA")
    train = published.campaign.outbox.create(kind="train", token="t", worker=ada)
    late = published.campaign.outbox.create(kind="exclude", token="e", worker=ada)
    first = claimed(published, size=100)
    assert late in first
    assert train not in first
    assert claimed(published, size=100) == [train]


def test_calls_on_one_worker_are_made_in_their_order(stage: Stage) -> None:
    ada = Worker.objects.create(crowd="mturk", worker_id="AADA")
    bob = Worker.objects.create(crowd="mturk", worker_id="ABOB")
    first, second, other = (
        stage.campaign.outbox.create(kind=kind, token=f"{number}", worker=worker)
        for number, (kind, worker) in enumerate(
            [("exclude", ada), ("restore", ada), ("exclude", bob)]
        )
    )
    assert claimed(stage) == [first, other]
    assert claimed(stage) == []
    record_done([first, other])
    assert claimed(stage) == [second]


def test_a_hit_grows_only_when_its_earlier_growth_is_over(published: Stage) -> None:
    creates = claimed(published)
    record_done(creates)
    hit = published.hit(1)
    first, second = (
        published.campaign.outbox.create(
            kind="extend", token=f"{number}", hit=hit, new_assignments=1
        )
        for number in range(2)
    )
    (mine,) = claimed(published)
    assert mine == first
    record_fault(mine, CrowdError("never", permanent=True), NOW)
    assert claimed(published) == [second]
