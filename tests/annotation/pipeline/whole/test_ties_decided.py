"""Two annotators disagree, nobody else may vote, and the owner decides."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from annotation.analytics.campaign.snapshots import take
from annotation.analytics.campaign.status import blockers
from annotation.crowd.inhouse.models import PostedHit
from annotation.models import Event, Judgment, Role
from annotation.pipeline.publishing.completion import is_complete
from annotation.pipeline.publishing.takers import stranded
from annotation.pipeline.publishing.top_up import missing_votes
from exports.building.export import export
from exports.building.options import Options
from exports.verify.verify import verify
from tests.annotation.pipeline.whole.own_crowd import Team, own_team
from tests.annotation.support.experts import shown

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_database")]
TIES = 5


def on_bread(query: str, _: int) -> int:
    return int(query == "bread")


def tied(folder: Path, **policy: object) -> Team:
    """Five triplets of bread have a vote each way; of all others the label is No."""
    team = own_team(folder, **policy)
    team.publish()
    team.work("ada")
    team.work("bob", on_bread)
    team.advance()
    return team


def owner(team: Team, role: str = "owner") -> Client:
    """Of the campaign, and not of the staff."""
    return with_role(team, User.objects.create_user("olga"), role)


def with_role(team: Team, user: User, role: str) -> Client:
    Role.objects.create(user=user, campaign=team.campaign, name=role)
    client = Client()
    client.force_login(user)
    return client


def review(team: Team, client: Client) -> str:
    return client.get(reverse("campaign-review", args=[team.campaign])).content.decode()


def decide_all(team: Team, client: Client, label: int = 1) -> int:
    address = f"/campaigns/{team.campaign}/adjudicate?what=open"
    decided = 0
    while (triplet := shown(client.get(address))) is not None:
        sent = {"triplet": triplet.pk, "label": label}
        assert client.post(address, sent).status_code == 303
        decided += 1
    return decided


def test_the_campaign_is_complete_when_the_owner_has_decided_its_ties(tmp_path: Path) -> None:
    team = tied(tmp_path)
    (blocker,) = blockers(team.campaign, clock=team.clock.now)
    assert blocker.reason.endswith("invite one more person, or let an owner decide 5 ties")
    assert (blocker.operation, blocker.alternative) == ("invite", "open")
    cast = list(Judgment.objects.order_by("pk").values())
    assert decide_all(team, owner(team)) == TIES
    assert list(Judgment.objects.order_by("pk").values()) == cast
    assert is_complete(team.campaign)
    assert blockers(team.campaign, clock=team.clock.now) == []
    assert stranded(team.campaign, team.clock.now()).assignments == 0
    plan = missing_votes(team.campaign)
    assert (plan.extensions, plan.repacked) == ([], {})
    done = team.advance()
    assert (done.open, done.assignments_requested, done.finished) == (0, 0, True)
    assert PostedHit.objects.filter(open_assignments__gt=0).exists()
    assert team.take("eve") is None  # what was asked for is ended: nobody shall judge in vain
    assert Event.objects.filter(type=Event.Type.COMPLETE).count() == 1


def test_two_who_never_tie_and_miss_a_control_leave_triplets_to_the_owner(tmp_path: Path) -> None:
    team = own_team(tmp_path, min_assignments=10)
    team.publish()
    team.work("ada")
    missed = team.take("bob")
    assert missed
    team.submit(missed, slips=1)
    team.work("bob")
    team.advance()
    (blocker,) = blockers(team.campaign, clock=team.clock.now)
    assert blocker.reason == (
        "1 assignment that nobody eligible is left for: invite one more person, or let an owner "
        "decide 5 triplets"
    )
    client = owner(team)
    assert ">Decide them</a>" in review(team, client)
    waiting = team.campaign.triplets.filter(status="open").latest("pk")
    page = client.get(reverse("campaign-triplet", args=[team.campaign, waiting.pk]))
    assert f"what=open&amp;triplet={waiting.pk}" in page.content.decode()
    assert decide_all(team, client) == 5
    assert is_complete(team.campaign)
    assert blockers(team.campaign, clock=team.clock.now) == []


def test_what_somebody_may_still_judge_is_left_to_them(tmp_path: Path) -> None:
    team = own_team(tmp_path)
    team.publish()
    team.work("ada")
    team.member("bob")
    team.advance()
    assert decide_all(team, owner(team)) == 0


def test_a_vote_that_comes_after_the_decision_counts_and_changes_no_label(tmp_path: Path) -> None:
    team = tied(tmp_path)
    decide_all(team, owner(team), label=1)
    assert team.work("eve")
    assert team.advance().open == 0
    bread = team.campaign.triplets.filter(candidate__query__key="bread")
    rows = bread.values_list("label", "label_source", "votes", "positive_votes")
    assert set(rows) == {(1, "expert", 3, 1)}


def test_ties_that_somebody_judges_now_are_not_shown(tmp_path: Path) -> None:
    team = tied(tmp_path)
    client = owner(team)
    work = team.take("eve")
    assert work
    assert decide_all(team, client) == TIES - 1
    team.submit(work)
    assert decide_all(team, client) == 0  # it is not reviewed yet
    team.advance()
    assert team.campaign.triplets.filter(label_source="expert").count() == TIES - 1


@pytest.mark.parametrize("role", ["manager", "adjudicator"])
def test_managers_and_adjudicators_decide_ties_too(tmp_path: Path, role: str) -> None:
    team = tied(tmp_path)
    assert decide_all(team, owner(team, role)) == TIES


def test_where_experts_measure_nobody_decides_a_tie(tmp_path: Path) -> None:
    team = tied(tmp_path, adjudication="measure")
    client = owner(team)
    page = client.get(f"/campaigns/{team.campaign}/adjudicate?what=open")
    assert (page.status_code, "lets no expert decide" in page.content.decode()) == (404, True)
    assert "Decide them" not in review(team, client)
    (blocker,) = blockers(team.campaign, clock=team.clock.now)
    assert blocker.alternative == "review"


def test_the_review_page_leads_an_owner_to_the_ties(tmp_path: Path) -> None:
    team = tied(tmp_path)
    link = f'href="/campaigns/{team.campaign}/adjudicate?what=open">Decide them'
    assert link in review(team, owner(team))


def buttons(team: Team, client: Client) -> list[str]:
    take(team.campaign, clock=team.clock.now)
    (trouble,) = client.get(f"/admin/campaigns/{team.campaign}/").context["overview"].troubles
    return [one.title for one in trouble.repairs]


def test_who_judged_the_ties_is_sent_to_somebody_who_did_not(tmp_path: Path) -> None:
    """Ada is both owner and annotator, as in many a team of two."""
    team = tied(tmp_path)
    ada = with_role(team, team.member("ada").user, "owner")
    (blocker,) = blockers(team.campaign, clock=team.clock.now)
    assert "make somebody who has not judged them an adjudicator" in blocker.reason
    assert buttons(team, ada) == ["Give roles"]
    olga = owner(team, "adjudicator")
    (blocker,) = blockers(team.campaign, clock=team.clock.now)
    assert blocker.alternative == "open"
    assert (buttons(team, ada), buttons(team, olga)) == ([], ["Decide them"])
    assert decide_all(team, olga) == TIES
    assert is_complete(team.campaign)


def test_where_experts_are_evenly_split_a_third_is_asked_for(tmp_path: Path) -> None:
    team = tied(tmp_path)
    olga = owner(team)
    otto = with_role(team, User.objects.create_user("otto"), "owner")
    address = f"/campaigns/{team.campaign}/adjudicate?what=open"
    tie = shown(olga.get(address))
    assert tie
    decide_all(team, olga, label=1)
    otto.post(f"{address}&triplet={tie.pk}", {"triplet": tie.pk, "label": 0})
    tie.refresh_from_db()
    assert (tie.status, tie.expert_labels.count()) == ("open", 2)
    (blocker,) = blockers(team.campaign, clock=team.clock.now)
    assert blocker.alternative == "roles"
    third = with_role(team, User.objects.create_user("tess"), "adjudicator")
    assert decide_all(team, third, label=0) == 1
    assert is_complete(team.campaign)


def test_its_release_tells_what_the_owner_decided_and_verifies(tmp_path: Path) -> None:
    team = tied(tmp_path)
    decide_all(team, owner(team))
    team.advance()
    export(team.campaign, tmp_path / "release", options=Options(split="random"))
    assert verify(tmp_path / "release").differences == []
    assert "decided 5 labels" in (tmp_path / "release" / "README.md").read_text()
