"""HITs that only one side knows: named, mended, and then at rest."""

from datetime import timedelta

import pytest

from annotation.models import Campaign, OutboxMessage
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.ledger.reservations import first_round_cents, set_budget
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.reconcile.run import reconcile
from annotation.pipeline.reconcile.snapshot import mark
from tests.annotation.pipeline.reconcile.drift import (
    FailingCrowd,
    account,
    compare,
    create_there,
    delete_there,
    finish,
    forget_there,
    mended,
    money,
    repairs,
)
from tests.conftest import SetStage
from tests.worlds.mturk import Killed, MortalCrowd
from tests.worlds.small_campaign import BUDGET_CENTS, Stage

pytestmark = pytest.mark.django_db


def lose_publication(stage: Stage, number: int, **message: object) -> str:
    """This database forgets that the HIT was published; its id there."""
    hit = stage.hit(number)
    crowd_id, hit.crowd_id = hit.crowd_id, None
    hit.published_at = hit.expires_at = None
    hit.save()
    hit.outbox.filter(kind="create").update(**message)
    assert crowd_id
    return crowd_id


def reserved_at_crowd(stage: Stage) -> int:
    """What the crowd holds, and what we keep for ties."""
    tie_reserve = sum(stage.campaign.hits.values_list("tie_reserve", flat=True))
    return stage.mturk.on_hold_cents + tie_reserve * stage.hit(1).price_cents


# A HIT of ours there, unknown to us


@pytest.mark.parametrize(
    "message",
    [
        {"state": "failed", "error": "No."},
        {"state": "cancelled"},
        {"state": "done"},
        {"state": "pending", "first_sent_at": None},  # an older backup of this database
    ],
)
def test_a_hit_published_unknown_to_us_is_taken_over(
    stage: Stage, message: dict[str, object]
) -> None:
    stage.publish()
    crowd_id = lose_publication(stage, 2, **message)
    report = compare(stage)
    assert repairs(report) == {"adopted": 1}
    assert report.done == [
        f"HIT {stage.hit(2).key} was at the crowd as {crowd_id} unknown to us: taken over."
    ]
    assert mended(stage) == {}
    hit = stage.hit(2)
    assert hit.crowd_id == crowd_id
    assert hit.published_at
    assert hit.expires_at
    assert {message.state for message in stage.outbox("create")} == {"done"}
    assert stage.deliver().sent == 0
    finish(stage, "cara", "dan")


def test_a_hit_that_nobody_here_has_asked_for_is_taken_over_as_the_budget_allows(
    stage: Stage,
) -> None:
    """An older backup, of when the cap left the last HIT out."""
    set_budget(stage.campaign, 4 * first_round_cents(stage.campaign.policy))
    stage.publish()
    create_there(stage, stage.hit(5).key)
    report = compare(stage)
    assert repairs(report) == {}
    (sentence,) = report.manual
    assert f"HIT {stage.hit(5).key} is at the crowd as" in sentence
    assert "the budget of faq does not cover it: raise the budget" in sentence
    set_budget(stage.campaign, BUDGET_CENTS)
    assert mended(stage) == {"adopted": 1}
    assert account(stage).reserved_cents == reserved_at_crowd(stage)
    finish(stage, "cara", "dan")


@pytest.mark.parametrize("state", [Campaign.State.PAUSED, Campaign.State.CANCELLED])
def test_a_hit_whose_answer_was_lost_is_taken_over_where_it_is_not_sent_again(
    stage: Stage, state: str
) -> None:
    stage.publish()
    lose_publication(stage, 2, state="pending")
    assert mended(stage) == {}  # deliver is about to ask again
    Campaign.objects.update(state=state)
    assert mended(stage)["adopted"] == 1


def test_what_is_being_sent_is_left_to_its_sender(stage: Stage) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    dying = MortalCrowd(stage.mturk.url, calls=2, answered=True)
    with pytest.raises(Killed):
        deliver(stage.campaign, dying, clock=stage.mturk.clock.now, threads=1)
    assert mended(stage) == {}
    assert {message.state for message in stage.outbox("create")} == {"claimed"}


# Two HITs there with one annotation


def test_a_second_hit_with_our_annotation_is_deleted_when_nobody_has_worked_on_it(
    stage: Stage,
) -> None:
    stage.publish()
    hit = stage.hit(3)
    extra = create_there(stage, hit.key)
    report = compare(stage)
    assert repairs(report) == {"withdrawn": 1, "deleted": 1}
    why = f"HIT {hit.key} is {hit.crowd_id} there"
    assert report.done == [
        f"HIT {extra} at the crowd ({hit.key}) is expired: {why}.",
        f"HIT {extra}, on which nobody had worked, is deleted.",
    ]
    assert mended(stage) == {}
    assert stage.hit(3).crowd_id == hit.crowd_id
    finish(stage, "cara", "dan")


def test_work_on_a_second_hit_is_left_to_a_person(stage: Stage) -> None:
    stage.publish()
    extra = create_there(stage, stage.hit(3).key)
    work = stage.mturk.person("ada").work(extra, stage.sheet(3))
    at_work = stage.mturk.person("bob").accept(extra)
    report = compare(stage)
    assert repairs(report) == {"withdrawn": 1}
    (sentence,) = report.manual
    assert "holds 1 assignments to be decided, and 1 are being worked on" in sentence
    assert extra in sentence
    assert at_work
    stage.mturk.person("bob").give_back(at_work)
    stage.mturk.crowd.approve(work)
    report = compare(stage)
    assert (repairs(report), report.manual) == ({}, [])


# A HIT there of which this database knows nothing


def test_a_hit_of_a_later_life_is_withdrawn(stage: Stage) -> None:
    stage.publish()
    annotation = f"{mark(stage.campaign)}000099"
    extra = create_there(stage, annotation)
    report = compare(stage)
    assert repairs(report) == {"withdrawn": 1, "deleted": 1}
    assert report.done[0] == (
        f"HIT {extra} at the crowd ({annotation}) is expired: no HIT here has its annotation: "
        "this database is older than the HIT."
    )
    assert mended(stage) == {}


def test_hits_of_others_are_never_touched(set_stage: SetStage) -> None:
    ours, theirs = set_stage("ours"), set_stage("theirs")
    ours.publish()
    theirs.publish()
    create_there(ours, "somebody else's")
    before = ours.mturk.rows("SELECT * FROM hits")
    assert mended(ours, full=True) == {}
    assert ours.mturk.rows("SELECT * FROM hits") == before


# A HIT of ours that is not there any more


def test_a_hit_gone_before_anybody_worked_on_it_is_published_again(stage: Stage) -> None:
    stage.publish()
    before = money(stage)
    lost = delete_there(stage, 4)
    report = compare(stage)
    assert repairs(report) == {"gone": 1, "published_again": 1}
    key = stage.hit(4).key
    assert report.done == [
        f"HIT {key} ({lost}) is gone from the crowd: its assignments are given up.",
        f"HIT {key} will be published again.",
    ]
    assert mended(stage) == {}
    assert money(stage) == before
    assert stage.deliver().sent == 1
    assert mended(stage) == {}
    assert stage.hit(4).crowd_id not in (None, lost)
    finish(stage, "cara", "dan")


def test_a_hit_may_be_lost_again_and_again(stage: Stage) -> None:
    stage.publish()
    for _ in range(3):
        delete_there(stage, 4)
        assert mended(stage) == {"gone": 1, "published_again": 1}
        assert stage.deliver().sent == 1
    assert len({message.token for message in stage.outbox("create")}) == 8
    finish(stage, "cara", "dan")


def test_a_hit_gone_in_the_middle_of_its_work_is_repacked(stage: Stage) -> None:
    stage.publish()
    for name, number in (("ada", 1), ("bob", 2), ("cara", 2)):
        stage.work(name, number)
    stage.advance()
    forget_there(stage, 1)
    assert mended(stage) == {"gone": 1}
    hit = stage.hit(1)
    assert (hit.gone, hit.closed_at is None, hit.tie_reserve) == (True, False, 0)
    assert account(stage).reserved_cents == _reserved_here(stage)
    for number in (3, 4, 5):
        for name in ("bob", "cara"):
            stage.work(name, number)
    stage.advance()
    stage.work("cara", stage.campaign.hits.get(repack=True).number)
    assert stage.advance().finished
    assert set(stage.campaign.triplets.values_list("votes", flat=True)) == {2}
    assert money(stage) == (stage.mturk.spent_cents, 0)


def _reserved_here(stage: Stage) -> int:
    return sum(
        (hit.max_assignments - hit.assignments.exclude(account="").count() + hit.tie_reserve)
        * hit.price_cents
        for hit in stage.campaign.hits.filter(gone=False)
    )


def test_work_that_waits_for_review_keeps_a_lost_hit_from_being_published_again(
    stage: Stage,
) -> None:
    stage.publish()
    stage.work("ada", 1)
    fetch_submissions(stage.campaign, stage.mturk.crowd)
    forget_there(stage, 1)
    assert mended(stage) == {"gone": 1}
    assert stage.hit(1).crowd_id is not None
    assert account(stage).reserved_cents == _reserved_here(stage) + stage.hit(1).price_cents


def test_an_expired_hit_that_is_gone_is_not_bought_again(stage: Stage) -> None:
    """A person decides whether what has expired is prolonged."""
    stage.publish()
    stage.mturk.clock.move_on(days=8)
    stage.advance()  # all have expired, and their money is free
    delete_there(stage, 4)
    assert mended(stage) == {"gone": 1}
    assert stage.advance().sent == 0
    assert account(stage).reserved_cents == 0


def test_a_list_that_breaks_off_makes_nothing_gone(stage: Stage) -> None:
    stage.publish()
    delete_there(stage, 4)
    stage.campaign.refresh_from_db()
    report = reconcile(stage.campaign, FailingCrowd(stage.mturk.url))
    assert (report.hits, report.stopped_by, report.done) == (1, "The list broke off.", [])


def test_an_account_that_knows_none_of_them_is_not_believed_at_once(one_hit: Stage) -> None:
    delete_there(one_hit, 1)
    report = compare(one_hit)
    assert report.done == []
    assert report.manual == [
        "The crowd lists none of the 1 HITs of faq: is this the account that published them? "
        "If they are really gone, say so (all gone)."
    ]
    assert mended(one_hit, all_gone=True) == {"gone": 1, "published_again": 1}


def test_hits_that_were_finished_when_the_crowd_forgot_them_are_no_drift(stage: Stage) -> None:
    stage.publish()
    finish(stage, "ada", "bob")
    stage.mturk.clock.move_on(days=119)
    forget_there(stage, 1)
    assert mended(stage) == {"gone": 1}
    stage.mturk.clock.move_on(days=2)
    forget_there(stage, 2)
    assert mended(stage) == {}
    assert not stage.hit(2).gone


def test_what_was_to_be_sent_for_a_lost_hit_is_cancelled(one_hit: Stage) -> None:
    one_hit.work("ada", 1, 0)
    one_hit.work("bob", 1, lambda query, _: int(query == "bread"))
    one_hit.advance()
    assert one_hit.hit(1).max_assignments == 3
    OutboxMessage.objects.filter(kind="extend").update(state="pending", first_sent_at=None)
    forget_there(one_hit, 1)
    assert mended(one_hit, all_gone=True) == {"gone": 1}
    assert [message.state for message in one_hit.outbox("extend")] == ["cancelled"]
    assert one_hit.hit(1).max_assignments == 2
    assert timedelta(0) <= one_hit.mturk.clock.now() - one_hit.hit(1).closed_at


def test_a_cancelled_campaign_publishes_nothing_again(stage: Stage) -> None:
    stage.publish()
    delete_there(stage, 4)
    Campaign.objects.update(state=Campaign.State.CANCELLED)
    assert mended(stage) == {"gone": 1}
