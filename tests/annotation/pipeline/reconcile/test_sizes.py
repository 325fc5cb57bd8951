"""HITs with other assignments there, or another end: named, mended, and then at rest."""

from datetime import timedelta

import pytest
from django.conf import settings

from annotation.models import OutboxMessage
from annotation.pipeline.ledger.reservations import set_budget
from annotation.pipeline.outbox.claims import UNSENT
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.outbox.messages import token
from annotation.pipeline.publishing.lifecycle import cancel, prolong
from annotation.pipeline.publishing.publish import publish
from tests.annotation.pipeline.reconcile.drift import (
    account,
    compare,
    finish,
    mended,
    money,
    repairs,
    spend_all_but,
)
from tests.worlds.mturk import Killed, MortalCrowd
from tests.worlds.small_campaign import BUDGET_CENTS, Stage, tie

pytestmark = pytest.mark.django_db


def grow_there(stage: Stage, number: int, *, extra: int = 1) -> None:
    crowd_id = stage.hit(number).crowd_id
    assert crowd_id
    stage.mturk.crowd.extend_hit(crowd_id, extra=extra, token=f"by hand {extra}")


def pretend_growth(stage: Stage, number: int) -> None:
    """We believe to have bought a place that the crowd does not have."""
    hit = stage.hit(number)
    hit.max_assignments += 1
    hit.tie_reserve -= 1
    hit.save()
    OutboxMessage.objects.create(
        campaign=stage.campaign,
        kind=OutboxMessage.Kind.EXTEND,
        token=token("extend", hit.key, hit.max_assignments, 0),
        hit=hit,
        new_assignments=1,
        state=OutboxMessage.State.DONE,
    )


# Places


def test_places_bought_manually_are_reserved(stage: Stage) -> None:
    stage.publish()
    before = account(stage).reserved_cents
    grow_there(stage, 2, extra=2)
    report = compare(stage)
    assert repairs(report) == {"resized": 1}
    assert "has 2 assignments more at the crowd than we bought: reserved." in report.done[0]
    assert mended(stage) == {}
    assert stage.hit(2).max_assignments == 4
    assert account(stage).reserved_cents == before + 2 * stage.hit(2).price_cents
    finish(stage, "ada", "bob", "cara", "dan")


def test_places_that_the_budget_does_not_cover_are_told_until_it_does(stage: Stage) -> None:
    stage.publish()
    spend_all_but(stage, stage.hit(2).price_cents - 1)
    grow_there(stage, 2)
    report = compare(stage)
    assert repairs(report) == {}
    assert "has 3 assignments at the crowd, 2 of them ours, and the budget" in report.manual[0]
    assert (stage.hit(2).max_assignments, len(stage.outbox("extend"))) == (2, 0)
    set_budget(stage.campaign, BUDGET_CENTS)
    assert mended(stage) == {"resized": 1}


def test_places_that_the_crowd_does_not_have_are_asked_for_again(one_hit: Stage) -> None:
    one_hit.work("ada", 1, 0)
    one_hit.work("bob", 1, lambda query, _: int(query == "bread"))
    pretend_growth(one_hit, 1)
    assert one_hit.advance().assignments_requested == 0  # the third place seems to be open
    before = money(one_hit)
    report = compare(one_hit)
    assert repairs(report) == {"resized": 1}
    assert "has 1 assignments fewer at the crowd than we bought: given up." in report.done[0]
    assert one_hit.hit(1).max_assignments == 3  # the recomputation has asked for it
    assert [message.state for message in one_hit.outbox("extend")] == ["cancelled", "pending"]
    assert len({message.token for message in one_hit.outbox("extend")}) == 2
    assert money(one_hit) == before
    assert mended(one_hit) == {}
    assert one_hit.deliver().sent == 1
    assert mended(one_hit) == {}
    finish(one_hit, "cara")


@pytest.mark.parametrize("answered", [True, False])
def test_a_growth_that_is_being_sent_is_no_drift(one_hit: Stage, answered: bool) -> None:
    tie(one_hit)
    assert mended(one_hit) == {}
    dying = MortalCrowd(one_hit.mturk.url, calls=0, answered=answered)
    with pytest.raises(Killed):
        deliver(one_hit.campaign, dying, clock=one_hit.mturk.clock.now, threads=1)
    assert mended(one_hit) == {}
    OutboxMessage.objects.filter(kind="extend").update(state="pending")
    assert mended(one_hit) == {}
    assert one_hit.deliver().sent == 1
    assert mended(one_hit) == {}
    finish(one_hit, "cara")


# Purchases of a campaign that was cancelled before their answer came


@pytest.mark.parametrize(("answered", "max_assignments"), [(True, 3), (False, 2)])
def test_what_became_of_a_growth_is_learnt_when_nobody_sends_it_again(
    one_hit: Stage, answered: bool, max_assignments: int
) -> None:
    tie(one_hit)
    dying = MortalCrowd(one_hit.mturk.url, calls=0, answered=answered)
    with pytest.raises(Killed):
        deliver(one_hit.campaign, dying, clock=one_hit.mturk.clock.now, threads=1)
    cancel(one_hit.campaign, one_hit.mturk.clock.now())
    assert mended(one_hit) == {}  # the sender may still be alive
    one_hit.mturk.clock.move_on(seconds=settings.CLAIM_SECONDS + 1)
    assert mended(one_hit) == {"answered": 1}
    assert one_hit.hit(1).max_assignments == max_assignments
    come_to_rest(one_hit)


@pytest.mark.parametrize("answered", [True, False])
def test_what_became_of_a_publication_is_learnt_when_nobody_sends_it_again(
    stage: Stage, answered: bool
) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    dying = MortalCrowd(stage.mturk.url, calls=2, answered=answered)
    with pytest.raises(Killed):
        deliver(stage.campaign, dying, clock=stage.mturk.clock.now, threads=1)
    cancel(stage.campaign, stage.mturk.clock.now())
    stage.mturk.clock.move_on(seconds=settings.CLAIM_SECONDS + 1)
    found = mended(stage)
    assert found["adopted"] == 2 + answered
    assert not stage.campaign.outbox.filter(kind="create", state__in=UNSENT).exists()
    come_to_rest(stage)


def come_to_rest(stage: Stage) -> None:
    stage.advance()
    stage.mturk.clock.move_on(seconds=1)
    stage.advance()
    assert stage.advance().waiting == 0
    assert money(stage) == (stage.mturk.spent_cents, 0)
    assert stage.mturk.on_hold_cents == 0


# Time


def test_another_end_is_stored(stage: Stage) -> None:
    stage.publish()
    crowd_id = stage.hit(2).crowd_id
    assert crowd_id
    until = stage.mturk.clock.now().replace(microsecond=0) + timedelta(days=20)
    stage.mturk.crowd.set_expiration(crowd_id, until)
    report = compare(stage)
    assert repairs(report) == {"rescheduled": 1}
    assert f"expires at another time at the crowd: {until:%Y-%m-%d %H:%M} UTC" in report.done[0]
    assert mended(stage) == {}
    assert stage.hit(2).expires_at == until


def test_a_hit_prolonged_by_hand_is_open_again_with_its_money(stage: Stage) -> None:
    stage.publish()
    before = account(stage).reserved_cents
    stage.mturk.clock.move_on(days=8)
    stage.advance()
    assert account(stage).reserved_cents == 0
    for hit in stage.campaign.hits.all():
        assert hit.crowd_id
        later = stage.mturk.clock.now() + timedelta(days=5)
        stage.mturk.crowd.set_expiration(hit.crowd_id, later)
    assert mended(stage) == {"rescheduled": 5}
    assert not stage.campaign.hits.exclude(closed_at=None).exists()
    tie_reserve = 5 * stage.hit(1).price_cents
    assert account(stage).reserved_cents == before - tie_reserve == stage.mturk.on_hold_cents
    finish(stage, "ada", "bob")


def test_a_hit_prolonged_by_hand_waits_for_a_budget_that_covers_it(stage: Stage) -> None:
    stage.publish()
    stage.mturk.clock.move_on(days=8)
    stage.advance()
    spend_all_but(stage, 0)
    crowd_id = stage.hit(2).crowd_id
    assert crowd_id
    stage.mturk.crowd.set_expiration(crowd_id, stage.mturk.clock.now() + timedelta(days=5))
    report = compare(stage)
    assert repairs(report) == {}
    assert "is open again at the crowd, and the budget of faq does not cover" in report.manual[0]
    assert stage.hit(2).closed_at
    set_budget(stage.campaign, BUDGET_CENTS)
    assert mended(stage) == {"rescheduled": 1}


@pytest.mark.parametrize("answered", [True, False])
def test_a_prolongation_that_is_being_sent_is_no_drift(stage: Stage, answered: bool) -> None:
    stage.publish()
    stage.mturk.clock.move_on(days=8)
    stage.advance()
    prolong(stage.campaign, days=5, now=stage.mturk.clock.now())
    reserved = account(stage).reserved_cents
    if answered:
        for message in stage.outbox("lifetime"):
            assert message.hit is not None
            assert message.hit.crowd_id is not None
            assert message.expires_at is not None
            stage.mturk.crowd.set_expiration(message.hit.crowd_id, message.expires_at)
    assert mended(stage, full=True) == {}
    assert account(stage).reserved_cents == reserved
    stage.deliver()
    assert mended(stage, full=True) == {}
    assert account(stage).reserved_cents == reserved
    finish(stage, "ada", "bob")
