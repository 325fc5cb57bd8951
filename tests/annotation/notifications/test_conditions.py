"""What is told of campaigns, jobs and releases: when it begins to hold, and once."""

import uuid
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from annotation.analytics.campaign.completion import state_of
from annotation.jobs.blockers import note_blocked
from annotation.models import Campaign, Event, OutboxMessage, Role
from annotation.notifications.events import note_condition
from annotation.pipeline.changes import mark_hits_of
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.collecting.review import review
from annotation.pipeline.ledger.reservations import account_of, set_budget
from core.errors import UserError
from core.leases import MOST_ATTEMPTS
from retrieval.jobs.queue import request, run, waiting_jobs
from retrieval.models import Job
from tests.annotation.pipeline.whole.own_crowd import own_team
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db


def types() -> list[str]:
    return list(Event.objects.order_by("pk").values_list("type", flat=True))


def newest() -> Event:
    return Event.objects.latest("pk")


def owner(campaign: Campaign) -> User:
    user = User.objects.create_user("ada")
    Role.objects.create(user=user, campaign=campaign, name="owner")
    return user


def test_a_campaign_is_told_to_be_complete_once_until_it_opens_again(one_hit: Stage) -> None:
    campaign, ada = one_hit.campaign, owner(one_hit.campaign)
    for name in ("bob", "cleo"):
        assert types() == []
        one_hit.work(name, 1, 1)
        one_hit.advance()
    one_hit.advance()
    assert types() == ["campaign.complete"]
    assert newest().data == {"campaign": "faq", "labelled": 5, "unresolved": 0}
    assert newest().deliveries.get().account == ada
    campaign.triplets.update(status="open", label=None)
    one_hit.advance()
    assert types() == ["campaign.complete"]
    mark_hits_of(campaign.triplets.all())
    one_hit.advance()
    assert types() == ["campaign.complete"] * 2


def test_a_campaign_is_told_to_be_complete_when_its_state_says_so(one_hit: Stage) -> None:
    """All is decided, but an approval waits for a day on which the crowd takes calls again."""
    for name in ("bob", "cleo"):
        one_hit.work(name, 1, 1)
    fetch_submissions(one_hit.campaign, one_hit.mturk.crowd)
    review(one_hit.campaign)
    approvals = one_hit.campaign.outbox.filter(kind="approve")
    approvals.update(retry_at=timezone.now() + timedelta(days=400))
    one_hit.advance()
    assert not one_hit.campaign.triplets.filter(status="open").exists()
    assert (state_of(one_hit.campaign).value, types()) == ("active", [])
    approvals.update(retry_at=None)
    one_hit.advance()
    assert (state_of(one_hit.campaign).value, types()) == ("complete", ["campaign.complete"])


def test_a_budget_that_is_nearly_spent_is_told_once(
    one_hit: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_hit.work("bob", 1, 1)
    one_hit.advance()
    account = account_of(one_hit.campaign)
    assert types() == []
    set_budget(one_hit.campaign, account.spent_cents + account.reserved_cents)
    account.refresh_from_db()
    monkeypatch.setattr(
        "annotation.pipeline.advance.NEARLY_PERCENT",
        100 * account.spent_cents // account.budget_cents,
    )
    for _ in range(2):
        one_hit.advance()
    assert types() == ["campaign.budget"]
    assert newest().data["spent_cents"] == account.spent_cents > 0


def test_a_cause_is_told_when_it_begins_and_again_when_it_comes_back(one_hit: Stage) -> None:
    campaign = one_hit.campaign
    for causes in ({"a": {}}, {"a": {}, "b": {}}, {"b": {}}, {"a": {"n": 1}}, {}):
        with transaction.atomic():
            note_condition(campaign, Event.Type.BLOCKED, causes)
    assert types() == ["campaign.blocked"] * 3
    assert newest().data == {"campaign": "faq", "n": 1}


def test_who_runs_a_campaign_is_told_once_that_it_stands_still(one_hit: Stage) -> None:
    campaign = one_hit.campaign
    owner(campaign)
    assert note_blocked(campaign) == []
    later = timezone.now() + timedelta(days=400)
    for _ in range(2):
        note_blocked(campaign, clock=lambda: later)
    (event,) = Event.objects.all()
    assert event.type == "campaign.blocked"
    assert event.data["reasons"] == [
        "1 HIT has expired with votes missing: `quorum campaign extend faq --days 7` gives them "
        "more time"
    ]


@pytest.mark.usefixtures("small_database")
def test_who_runs_a_campaign_is_told_that_nobody_is_left_for_its_ties(tmp_path: Path) -> None:
    team = own_team(tmp_path)
    owner(team.campaign)
    team.publish()
    for name in ("bob", "eve"):
        team.member(name)
    assert note_blocked(team.campaign, clock=team.clock.now) == []
    team.work("bob")
    team.work("eve", 1)
    team.advance()
    note_blocked(team.campaign, clock=team.clock.now)
    (reason,) = newest().data["reasons"]
    assert "that nobody eligible is left for: invite one more person" in reason


@pytest.mark.parametrize(
    ("state", "attempts", "expected"),
    [("pending", 1, 0), ("pending", 5, 1), ("pending", 0, 1), ("failed", 1, 1)],
)
def test_a_call_that_is_soon_tried_again_is_no_standstill(
    one_hit: Stage, state: str, attempts: int, expected: int
) -> None:
    OutboxMessage.objects.update(state=state, attempts=attempts, error="Busy.")
    assert len(note_blocked(one_hit.campaign)) == expected


def test_a_job_that_is_refused_is_told_to_who_asked_for_it() -> None:
    ada = User.objects.create_user("ada")
    job = request("count", "", {}, by=ada)

    def refuse(*_: object) -> dict[str, object]:
        raise UserError("No room.")

    run(job.pk, "here", {"count": refuse})
    assert newest().data == {"job": job.pk, "kind": "count", "subject": "", "error": "No room."}
    assert newest().deliveries.get().account == ada


def test_a_job_that_was_cut_off_too_often_is_told_once() -> None:
    job = request("count", "", {}, by=None)
    Job.objects.update(attempts=MOST_ATTEMPTS, claim=uuid.uuid4().hex)
    for _ in range(2):
        assert list(waiting_jobs()) == []
    job.refresh_from_db()
    assert (job.state, types()) == ("failed", ["job.failed"])
