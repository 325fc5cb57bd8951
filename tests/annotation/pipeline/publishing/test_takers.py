"""Who may still take which HIT: by hand, and against the crowd asked person by person."""

from html import unescape
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from annotation.analytics.campaign.publication_preview import publication_of
from annotation.analytics.campaign.snapshots import take
from annotation.analytics.campaign.status import blockers
from annotation.crowd.inhouse.members import deactivate
from annotation.crowd.inhouse.models import PostedHit
from annotation.models import Campaign, Role
from annotation.pipeline.manual.exclusion import exclude
from annotation.pipeline.publishing.takers import (
    Stranded,
    has_judged,
    members_of,
    stranded,
    too_small_a_team,
)
from tests.annotation.pipeline.whole.own_crowd import Team, own_team

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_database")]


def left(team: Team) -> tuple[int, int, int]:
    found = stranded(team.campaign, team.clock.now())
    return found.assignments, found.people, found.ties + found.others


def on_bread(query: str, _: int) -> int:
    return int(query == "bread")


@pytest.fixture
def team(tmp_path: Path) -> Team:
    """Five HITs of two assignments each, published."""
    team = own_team(tmp_path)
    team.publish()
    return team


def tied(team: Team) -> None:
    """Four HITs have a tie, and a third assignment is asked for on each."""
    team.work("ada")
    team.work("bob", on_bread)
    team.advance()


@pytest.mark.parametrize(
    ("names", "before", "after"),
    [
        ("", (10, 2, 25), (10, 2, 25)),
        ("ada", (5, 1, 0), (5, 1, 25)),
        ("ada bob", (0, 0, 0), (0, 0, 0)),
    ],
)
def test_each_assignment_of_a_hit_needs_another_person(
    team: Team, names: str, before: tuple[int, int, int], after: tuple[int, int, int]
) -> None:
    for name in names.split():
        team.member(name)
    assert left(team) == before
    if names:
        team.work("ada")
        team.advance()
    assert left(team) == after


def test_before_anybody_has_joined_it_says_how_many_to_invite(team: Team) -> None:
    (blocker,) = blockers(team.campaign, clock=team.clock.now)
    assert blocker.reason == "nobody has joined yet: invite at least 2 people"
    assert "`quorum crowd invite`" in blocker
    assert blocker.operation == "invite"
    team.member("ada")
    (blocker,) = blockers(team.campaign, clock=team.clock.now)
    assert blocker.reason.startswith("5 assignments that nobody eligible is left for: invite one")


@pytest.mark.parametrize("tie_mode", ["extend", "repack"])
def test_the_ties_of_two_wait_for_a_third(tmp_path: Path, tie_mode: str) -> None:
    team = own_team(tmp_path, tie_mode=tie_mode)
    team.publish()
    tied(team)
    assignments, people, ties = left(team)
    assert (people, ties) == (1, 5)
    (blocker,) = blockers(team.campaign, clock=team.clock.now)
    assert blocker.reason == (
        f"{assignments} assignment{'s' if assignments > 1 else ''} that nobody eligible is left "
        "for: invite one more person, or let an owner decide 5 ties"
    )
    assert (blocker.operation, blocker.alternative) == ("invite", "open")
    assert take(team.campaign, clock=team.clock.now).figures["eta"] is None
    team.member("eve")
    assert left(team) == (0, 0, 0)
    assert len(team.work("eve")) == assignments
    assert team.advance().finished


def test_a_tie_that_somebody_eligible_may_break_is_left_out(team: Team) -> None:
    """Eve may take each HIT, and one of them wants one more than her."""
    tied(team)
    assert left(team) == (5, 1, 5)
    team.member("eve")
    PostedHit.objects.filter(pk=PostedHit.objects.latest("pk").pk).update(open_assignments=2)
    assert left(team) == (1, 1, 0)


def test_who_left_is_excluded_or_has_no_part_is_nobody(team: Team) -> None:
    ada, _bob = team.member("ada"), team.member("bob")
    assert left(team) == (0, 0, 0)
    deactivate(ada)
    assert left(team) == (5, 1, 0)
    team.member("eve")
    team.work("eve")
    team.advance()
    exclude(team.campaign, team.member("eve").worker_id, reason="By hand.")
    team.advance()
    assert left(team)[0] > 0
    role = Role.objects.create(
        user=User.objects.create_user("own"), campaign=team.campaign, name=Role.Name.ANNOTATOR
    )
    assert list(members_of(team.campaign)) == []
    (blocker,) = blockers(team.campaign, clock=team.clock.now)
    assert (blocker.operation, "make 2 more people its annotators" in blocker) == ("roles", True)
    role.delete()


def test_nothing_is_said_of_a_campaign_that_is_not_out(tmp_path: Path) -> None:
    team = own_team(tmp_path)
    assert stranded(team.campaign, team.clock.now()) == Stranded(0, 0, 0, 0, closed=False)


def asked_one_by_one(campaign: Campaign, team: Team, names: list[str]) -> int:
    """What nobody takes of what is asked for, by the crowd's own accept."""
    short = 0
    for hit in campaign.hits.exclude(crowd_id=None):
        posted = PostedHit.objects.get(hit_id=hit.crowd_id)
        if not posted.is_open or posted.expires_at <= team.clock.now():
            continue
        takers = 0
        for name in names:
            with transaction.atomic():
                others = PostedHit.objects.exclude(pk=posted.pk)
                others.update(is_open=False)
                got = team.take(name)
                takers += got is not None and not has_judged(hit, got.member.worker_id)
                transaction.set_rollback(True)
        short += max(0, posted.open_assignments - takers)
    return short


@pytest.mark.parametrize("tie_mode", ["extend", "repack"])
def test_the_rule_is_the_crowd_s_own_asked_person_by_person(tmp_path: Path, tie_mode: str) -> None:
    team = own_team(tmp_path, tie_mode=tie_mode, min_assignments=2)
    team.publish()
    names = ["ada", "bob"]
    tied(team)
    assert left(team)[0] == asked_one_by_one(team.campaign, team, names) > 0
    names.append("eve")
    first = team.take("eve")
    assert first
    team.submit(first, on_bread)
    team.advance()
    assert left(team)[0] == asked_one_by_one(team.campaign, team, names)
    exclude(team.campaign, team.member("bob").worker_id, reason="By hand.")
    team.advance()
    assert left(team)[0] == asked_one_by_one(team.campaign, team, names) > 0
    deactivate(team.member("eve"))
    assert left(team)[0] == asked_one_by_one(team.campaign, team, names) > 0


def test_a_team_of_two_is_told_of_ties_before_it_publishes(tmp_path: Path) -> None:
    team = own_team(tmp_path)
    warning = "Ties need a third person or an expert's decision; the team has 2."
    assert too_small_a_team(team.campaign.policy).startswith("Two judgments per item need 2")
    for name in ("ada", "bob"):
        team.member(name)
    assert too_small_a_team(team.campaign.policy) == warning
    assert publication_of(team.campaign, None).sentences()[-1] == warning
    client = Client()
    client.force_login(User.objects.create_superuser("owner"))
    page = client.get(f"/admin/campaigns/{team.campaign}/milestones").content.decode()
    assert warning in unescape(page)
    assert client.get(f"/api/v1/campaigns/{team.campaign}").json()["warnings"] == [warning]
    team.member("eve")
    assert too_small_a_team(team.campaign.policy, team.campaign) is None


def test_open_ties_stand_under_review(team: Team) -> None:
    tied(team)
    client = Client()
    client.force_login(User.objects.create_superuser("owner"))
    page = client.get(f"/admin/campaigns/{team.campaign}/review/")
    assert len(page.context["waiting"]) == 5
    assert "those that wait for a vote are listed above" in page.content.decode()
