"""Pause, resume, expire, prolong, cancel: what each does to money, assignments and votes."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from annotation.models import Account, Hit
from annotation.pipeline.collecting.collect import close
from annotation.pipeline.ledger.reservations import account_of, set_budget
from annotation.pipeline.outbox.claims import claim
from annotation.pipeline.outbox.deliver import _held
from annotation.pipeline.publishing.lifecycle import cancel, expire, pause, prolong, resume, wind_up
from annotation.pipeline.publishing.outlook import Outlook, outlook, prolongations, prolonging
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.recompute import recompute
from core.errors import UserError
from tests.conftest import SetStage
from tests.support.threads import together
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db

PRICE = 19


def account(stage: Stage) -> Account:
    return account_of(stage.campaign)


def now(stage: Stage) -> datetime:
    return stage.mturk.clock.now()


def agrees_with_the_crowd(stage: Stage) -> None:
    """What is reserved is what the crowd holds, and the assignments for ties."""
    tie_reserve = sum(hit.tie_reserve * hit.price_cents for hit in stage.campaign.hits.all())
    assert account(stage).reserved_cents == stage.mturk.on_hold_cents + tie_reserve
    assert account(stage).spent_cents == stage.mturk.spent_cents


def close_all(stage: Stage) -> None:
    """The HITs' time is over, nobody is at work."""
    stage.mturk.clock.move_on(days=8)
    stage.advance()
    assert not stage.campaign.hits.filter(closed_at=None).exists()


# pause and resume


def test_a_paused_campaign_buys_nothing_and_goes_on_when_resumed(stage: Stage) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    pause(stage.campaign)
    assert stage.deliver().sent == 0
    assert stage.mturk.count("hits") == 0
    resume(stage.campaign)
    assert stage.deliver().sent == 5
    assert stage.mturk.count("hits") == 5


def test_while_paused_work_is_still_reviewed_and_paid(stage: Stage) -> None:
    stage.publish()
    pause(stage.campaign)
    stage.work("ada", 1)
    found = stage.advance()
    assert (found.new, found.passed, found.assignments_requested) == (1, 1, 0)
    assert stage.mturk.spent_cents == PRICE
    agrees_with_the_crowd(stage)


def test_while_paused_a_tie_waits(one_hit: Stage) -> None:
    pause(one_hit.campaign)
    one_hit.work("ada", 1, 0)
    one_hit.work("bob", 1, 1)
    one_hit.advance()
    assert one_hit.outbox("extend") == []
    resume(one_hit.campaign)
    assert one_hit.advance().assignments_requested == 1


def test_pausing_and_resuming_twice_is_the_same_as_once(stage: Stage) -> None:
    twice = (pause, "paused"), (pause, "paused"), (resume, "active"), (resume, "active")
    for act, state in twice:
        act(stage.campaign)
        stage.campaign.refresh_from_db()
        assert stage.campaign.state == state


def test_what_is_planned_and_what_is_out_is_told(stage: Stage) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    before = outlook(stage.campaign)
    assert (before.waiting_hits, before.waiting_cents) == (5, 5 * 3 * PRICE)
    assert (before.open_hits, before.open_cents, before.tie_break_cents) == (0, 0, 0)
    stage.deliver()
    stage.work("ada", 1)
    stage.advance()
    stage.work("bob", 1)
    stage.work("bob", 2)
    assert outlook(stage.campaign) == Outlook(
        waiting_hits=0,
        waiting_assignments=0,
        waiting_cents=0,
        left_out_hits=0,
        open_hits=5,
        open_assignments=9,
        open_cents=9 * PRICE,
        tie_break_cents=5 * PRICE,
        undecided=0,
        undecided_cents=0,
        open_triplets=25,
        available_cents=1_000_000 - 15 * PRICE,
    )


def test_planned_places_and_undecided_work_are_told_apart(one_hit: Stage) -> None:
    one_hit.work("ada", 1, 0)
    one_hit.work("bob", 1, 1)
    pause(one_hit.campaign)
    one_hit.advance()
    resume(one_hit.campaign)
    recompute(one_hit.campaign)
    found = outlook(one_hit.campaign)
    assert (found.waiting_hits, found.waiting_assignments, found.waiting_cents) == (0, 1, PRICE)
    assert (found.open_assignments, found.open_cents, found.tie_break_cents) == (0, 0, 0)
    assert (found.undecided, found.undecided_cents) == (0, 0)
    one_hit.deliver()
    assert outlook(one_hit.campaign).open_assignments == 1


# expire


def test_expired_hits_can_be_taken_by_nobody_and_their_money_is_free_again(stage: Stage) -> None:
    stage.publish()
    stage.work("ada", 1)
    stage.advance()
    assert expire(stage.campaign, now(stage)) == 5
    stage.deliver()
    assert stage.accept("bob", 1) is None
    stage.advance()
    assert account(stage).reserved_cents == 0
    assert account(stage).spent_cents == PRICE
    assert not stage.campaign.hits.filter(closed_at=None).exists()
    agrees_with_the_crowd(stage)


def test_who_is_at_work_when_a_hit_expires_may_submit_and_is_paid(one_hit: Stage) -> None:
    assignment = one_hit.accept("ada", 1)
    assert assignment
    expire(one_hit.campaign, now(one_hit))
    one_hit.deliver()
    one_hit.advance()
    assert account(one_hit).reserved_cents == 3 * PRICE  # not over yet
    one_hit.mturk.person("ada").submit(assignment, one_hit.sheet(1))
    one_hit.advance()
    one_hit.advance()
    assert account(one_hit).spent_cents == PRICE
    assert account(one_hit).reserved_cents == 0
    agrees_with_the_crowd(one_hit)


def test_expiring_twice_makes_no_second_call(stage: Stage) -> None:
    stage.publish()
    expire(stage.campaign, now(stage))
    assert expire(stage.campaign, now(stage)) == 0
    stage.deliver()
    stage.advance()
    assert expire(stage.campaign, now(stage)) == 0
    assert len(stage.outbox("lifetime")) == 5


def test_hits_with_all_places_submitted_are_left_alone(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    one_hit.work("bob", 1)
    one_hit.advance()
    assert expire(one_hit.campaign, now(one_hit)) == 0


# prolong


def test_a_closed_hit_is_opened_again_with_its_money(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    one_hit.advance()
    close_all(one_hit)
    assert account(one_hit).reserved_cents == 0
    previewed = prolonging(*prolongations(one_hit.campaign, now(one_hit) + timedelta(days=7)))
    assert (previewed.hits, previewed.assignments, previewed.cents) == (1, 1, PRICE)
    assert prolong(one_hit.campaign, days=7, now=now(one_hit)) == previewed
    assert account(one_hit).reserved_cents == PRICE
    one_hit.deliver()
    assert one_hit.hit(1).closed_at is None
    agrees_with_the_crowd(one_hit)
    one_hit.work("bob", 1)
    found = one_hit.advance()
    assert (found.labelled, found.finished) == (5, True)
    assert account(one_hit).spent_cents == 2 * PRICE
    agrees_with_the_crowd(one_hit)


def test_prolonging_twice_reserves_the_money_once(one_hit: Stage) -> None:
    close_all(one_hit)
    for _ in range(2):
        prolong(one_hit.campaign, days=7, now=now(one_hit))
    assert account(one_hit).reserved_cents == 2 * PRICE
    assert [message.state for message in one_hit.outbox("lifetime")] == ["cancelled", "pending"]
    one_hit.deliver()
    agrees_with_the_crowd(one_hit)
    prolong(one_hit.campaign, days=7, now=now(one_hit))
    assert account(one_hit).reserved_cents == 2 * PRICE


def test_a_hit_that_is_still_open_gets_more_time_and_costs_nothing(one_hit: Stage) -> None:
    before = one_hit.hit(1).expires_at
    done = prolong(one_hit.campaign, days=30, now=now(one_hit))
    assert (done.hits, done.cents) == (1, 0)
    one_hit.deliver()
    after = one_hit.hit(1).expires_at
    assert before
    assert after
    assert after - before > timedelta(days=22)
    agrees_with_the_crowd(one_hit)


def test_nothing_is_shortened(one_hit: Stage) -> None:
    assert prolong(one_hit.campaign, days=1, now=now(one_hit)).hits == 0


def test_a_tie_on_a_closed_hit_is_broken_after_all(one_hit: Stage) -> None:
    pause(one_hit.campaign)
    one_hit.work("ada", 1, 0)
    one_hit.work("bob", 1, 1)
    one_hit.advance()
    close_all(one_hit)
    resume(one_hit.campaign)
    assert one_hit.advance().assignments_requested == 0
    done = prolong(one_hit.campaign, days=7, now=now(one_hit))
    assert (done.hits, done.assignments) == (1, 0)
    one_hit.deliver()
    assert one_hit.advance().assignments_requested == 1
    one_hit.work("cara", 1, 1)
    assert one_hit.advance().labelled == 5
    agrees_with_the_crowd(one_hit)


def test_the_budget_opens_as_many_as_it_reaches(stage: Stage) -> None:
    stage.publish()
    close_all(stage)
    set_budget(stage.campaign, 3 * 2 * PRICE + 1)
    done = prolong(stage.campaign, days=7, now=now(stage))
    assert (done.hits, done.assignments, done.cents) == (3, 6, 6 * PRICE)
    assert (done.left_out, done.left_out_cents) == (2, 4 * PRICE)
    set_budget(stage.campaign, 1_000)
    assert prolong(stage.campaign, days=7, now=now(stage)).left_out == 0
    assert account(stage).reserved_cents == 10 * PRICE


def test_expiring_takes_back_a_reopening_that_was_not_sent(one_hit: Stage) -> None:
    close_all(one_hit)
    prolong(one_hit.campaign, days=7, now=now(one_hit))
    expire(one_hit.campaign, now(one_hit))
    assert [message.state for message in one_hit.outbox("lifetime")] == ["cancelled"]
    assert account(one_hit).reserved_cents == 0
    agrees_with_the_crowd(one_hit)


def test_expiring_follows_a_reopening_that_is_under_way(one_hit: Stage) -> None:
    close_all(one_hit)
    prolong(one_hit.campaign, days=7, now=now(one_hit))
    one_hit.campaign.outbox.filter(kind="lifetime").update(first_sent_at=now(one_hit))
    assert expire(one_hit.campaign, now(one_hit)) == 1
    assert expire(one_hit.campaign, now(one_hit)) == 0
    assert account(one_hit).reserved_cents == 2 * PRICE
    one_hit.deliver()
    one_hit.advance()
    assert account(one_hit).reserved_cents == 0
    agrees_with_the_crowd(one_hit)


@pytest.mark.parametrize("days", [0, -1, 366])
def test_hits_live_for_at_most_a_year(one_hit: Stage, days: int) -> None:
    with pytest.raises(UserError, match="by 1 to 365 days"):
        prolong(one_hit.campaign, days=days, now=now(one_hit))


def test_a_paused_campaign_is_resumed_before_it_is_prolonged(one_hit: Stage) -> None:
    pause(one_hit.campaign)
    with pytest.raises(UserError, match=r"run `quorum campaign resume faq` first"):
        prolong(one_hit.campaign, days=7, now=now(one_hit))


# cancel


def test_cancelling_gives_back_what_was_never_sent_and_sends_nothing(stage: Stage) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    assert account(stage).reserved_cents == 15 * PRICE
    cancel(stage.campaign, now(stage))
    assert account(stage).reserved_cents == 0
    stage.deliver()
    assert stage.mturk.count("hits") == 0
    assert {message.state for message in stage.outbox("create")} == {"cancelled"}


def test_after_cancelling_submitted_work_is_still_reviewed_and_paid(stage: Stage) -> None:
    stage.publish()
    stage.work("ada", 1)
    stage.work("eve", 2, slips=1)
    assignment = stage.accept("bob", 3)
    assert assignment
    cancel(stage.campaign, now(stage))
    stage.deliver()
    assert stage.accept("cara", 4) is None
    stage.mturk.person("bob").submit(assignment, stage.sheet(3))
    found = stage.advance()
    assert (found.passed, found.failed, found.assignments_requested) == (2, 1, 0)
    stage.advance()
    assert (account(stage).reserved_cents, account(stage).spent_cents) == (0, 2 * PRICE)
    agrees_with_the_crowd(stage)


def test_cancelling_frees_the_places_for_ties_at_once(one_hit: Stage) -> None:
    one_hit.work("ada", 1, 0)
    one_hit.work("bob", 1, 1)
    pause(one_hit.campaign)
    one_hit.advance()
    assert account(one_hit).reserved_cents == PRICE
    cancel(one_hit.campaign, now(one_hit))
    assert account(one_hit).reserved_cents == 0
    assert one_hit.hit(1).tie_reserve == 0
    assert one_hit.outbox("lifetime") == []


def test_cancelling_takes_back_places_that_were_not_asked_for(one_hit: Stage) -> None:
    one_hit.work("ada", 1, 0)
    one_hit.work("bob", 1, 1)
    pause(one_hit.campaign)
    one_hit.advance()
    resume(one_hit.campaign)
    recompute(one_hit.campaign)
    assert one_hit.hit(1).max_assignments == 3
    cancel(one_hit.campaign, now(one_hit))
    assert one_hit.hit(1).max_assignments == 2
    assert account(one_hit).reserved_cents == 0
    one_hit.advance()
    agrees_with_the_crowd(one_hit)


def test_a_hit_that_was_being_published_is_expired_by_the_next_pass(stage: Stage) -> None:
    """Its sender had claimed it, and comes back after the campaign was cancelled."""
    publish(stage.campaign, stage.mturk.crowd)
    [mine] = claim(
        stage.campaign, timezone.now(), "theirs", held=_held(stage.campaign, None), size=1
    )
    cancel(stage.campaign, now(stage))
    assert account(stage).reserved_cents == 3 * PRICE
    assert mine.hit
    published(stage, mine.hit)
    mine.state = "done"
    mine.save()
    stage.advance()
    stage.advance()
    assert account(stage).reserved_cents == 0
    assert stage.mturk.rows("SELECT expired FROM hits") == [(1,)]
    agrees_with_the_crowd(stage)


def test_what_was_published_too_late_ends_by_the_clock_of_the_pass(stage: Stage) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    [mine] = claim(
        stage.campaign, timezone.now(), "theirs", held=_held(stage.campaign, None), size=1
    )
    cancel(stage.campaign, now(stage))
    stage.mturk.clock.move_on(hours=2)
    assert mine.hit
    published(stage, mine.hit)
    stage.advance()
    [end] = stage.outbox("lifetime")
    assert end.expires_at
    assert timedelta(0) <= now(stage) - end.expires_at < timedelta(minutes=30)


def published(stage: Stage, hit: Hit) -> None:
    campaign = stage.campaign
    campaign.refresh_from_db()
    hit.crowd_id = stage.mturk.crowd.create_hit(
        hit_type_id=campaign.hit_type_id,
        url="https://example.org/",
        max_assignments=2,
        lifetime_seconds=7 * 86_400,
        token=hit.key,
        annotation=hit.key,
    )
    hit.expires_at = now(stage) + timedelta(days=7)
    hit.save()


def test_what_the_crowd_refused_gives_its_money_back(stage: Stage) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    stage.campaign.outbox.update(state="failed", error="no", first_sent_at=timezone.now())
    cancel(stage.campaign, now(stage))
    assert account(stage).reserved_cents == 0


def test_cancelling_twice_is_the_same_as_once(stage: Stage) -> None:
    stage.publish()
    stage.work("ada", 1)
    for _ in range(3):
        cancel(stage.campaign, now(stage))
    stage.advance()
    wind_up(stage.campaign, now(stage))
    assert len(stage.outbox("lifetime")) == 5


def test_a_cancelled_campaign_does_nothing_else_any_more(stage: Stage) -> None:
    stage.publish()
    cancel(stage.campaign, now(stage))
    for act in (pause, resume, lambda campaign: prolong(campaign, days=7, now=now(stage))):
        with pytest.raises(UserError, match=r"is cancelled\. You cannot undo this"):
            act(stage.campaign)
    with pytest.raises(UserError, match="is cancelled"):
        publish(stage.campaign, stage.mturk.crowd)


@pytest.mark.django_db(transaction=True)
def test_two_people_at_once_do_it_once(set_stage: SetStage) -> None:
    stage = set_stage()
    stage.publish()
    close_all(stage)
    together(*[lambda: prolong(stage.campaign, days=7, now=now(stage))] * 2)
    assert account(stage).reserved_cents == 10 * PRICE
    together(*[lambda: cancel(stage.campaign, now(stage))] * 2)
    assert account(stage).reserved_cents == 0
    assert not stage.campaign.outbox.filter(kind="lifetime").exclude(state="cancelled").exists()


# at the same time as a pass


def tie_that_waits(one_hit: Stage) -> None:
    """A third place is written down; nobody has sent it."""
    one_hit.work("ada", 1, 0)
    one_hit.work("bob", 1, 1)
    pause(one_hit.campaign)
    one_hit.advance()
    resume(one_hit.campaign)
    recompute(one_hit.campaign)


def test_a_paused_campaign_s_hits_expire_though_places_wait(one_hit: Stage) -> None:
    tie_that_waits(one_hit)
    pause(one_hit.campaign)
    assert expire(one_hit.campaign, now(one_hit)) == 1
    assert one_hit.deliver().sent == 1
    one_hit.advance()
    assert account(one_hit).reserved_cents == 0
    agrees_with_the_crowd(one_hit)
    resume(one_hit.campaign)
    one_hit.deliver()
    prolong(one_hit.campaign, days=7, now=now(one_hit))
    one_hit.deliver()
    assert account(one_hit).reserved_cents == PRICE
    agrees_with_the_crowd(one_hit)


def test_what_was_sent_before_it_paused_is_brought_to_its_end(stage: Stage) -> None:
    """The HITs may be out there: only a repeated call tells."""
    publish(stage.campaign, stage.mturk.crowd)
    stage.campaign.outbox.update(first_sent_at=timezone.now())
    pause(stage.campaign)
    assert stage.deliver().sent == 5
    for _ in range(2):
        stage.advance()
    agrees_with_the_crowd(stage)


def test_a_look_from_before_it_was_prolonged_closes_no_hit(one_hit: Stage) -> None:
    one_hit.mturk.clock.move_on(days=8)
    over = [one_hit.hit(1).pk]  # as a pass finds it at the crowd
    prolong(one_hit.campaign, days=7, now=now(one_hit))
    assert close(one_hit.campaign, over, now(one_hit)) == 0
    one_hit.deliver()
    assert close(one_hit.campaign, over, now(one_hit)) == 0
    agrees_with_the_crowd(one_hit)
