"""Who may adjudicate what, and what hostile texts can do on the page: nothing."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.crowd.inhouse.assignments import give_back, take
from annotation.crowd.inhouse.models import Member
from annotation.models import Campaign, ExpertLabel, Judgment, Triplet, Worker
from annotation.pipeline.adjudicate import Pile, What
from tests.annotation.support.experts import ADDRESS, at, decide, expert, report, show, unresolved
from tests.exports.support.campaigns import make_campaign
from tests.worlds.team import make_team

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign() -> Campaign:
    """Of nine triplets one is unresolved: tea's second."""
    return make_campaign()


@pytest.fixture
def ada(campaign: Campaign) -> Client:
    return at(expert("ada"))


def test_strangers_are_sent_to_sign_in(campaign: Campaign, client: Client) -> None:
    response = client.get(ADDRESS)
    assert response.status_code == 302
    assert response["Location"].startswith("/sign-in?next=/campaigns/demo/adjudicate")
    assert client.post(ADDRESS, {"triplet": "1", "label": "1"}).status_code == 302


@pytest.mark.parametrize("staff", [True, False])
def test_staff_rights_and_the_right_to_label_are_both_needed(
    campaign: Campaign, staff: bool
) -> None:
    user = User.objects.create_user("bob", is_staff=staff)
    if not staff:
        user.user_permissions.add(Permission.objects.get(codename="add_expertlabel"))
    client, triplet = at(user), unresolved(campaign)
    for response in (client.get(ADDRESS), decide(client, triplet, 1)):
        assert response.status_code == 403
        assert triplet.candidate.query.text not in response.content.decode()
    assert not ExpertLabel.objects.exists()


def test_a_decision_from_another_site_is_refused(campaign: Campaign) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(expert("ada"))
    assert decide(client, unresolved(campaign), 1).status_code == 403
    assert not ExpertLabel.objects.exists()


@pytest.mark.parametrize("address", ["/campaigns/nope/adjudicate", f"{ADDRESS}?what=everything"])
def test_what_is_not_there_is_said(ada: Client, address: str) -> None:
    assert ada.get(address).status_code == 404


@pytest.fixture
def member(campaign: Campaign) -> Client:
    """Ada has judged everything as annotator INHOUSEADA1A, of the people's own crowd."""
    user = expert("ada")
    Member.objects.create(user=user, worker_id="INHOUSEADA1A", joined_at=datetime.now(UTC))
    Worker.objects.filter(worker_id="ada").update(crowd="inhouse", worker_id="INHOUSEADA1A")
    return at(user)


def test_an_expert_is_not_shown_what_they_judged_as_an_annotator(
    member: Client, campaign: Campaign
) -> None:
    mine = Judgment.objects.filter(worker__worker_id="INHOUSEADA1A", triplet__isnull=False)
    assert mine.count() == 9
    for what in ("unresolved", "sample"):
        assert show(member, what) is None
    assert decide(member, unresolved(campaign), 1).status_code == 404
    mine.filter(triplet=unresolved(campaign)).delete()
    assert show(member) == unresolved(campaign)


def test_an_expert_is_not_shown_the_hit_that_they_have_in_hand(
    small_database: None, tmp_path: Path
) -> None:
    team = make_team(tmp_path, "http://testserver")
    team.campaign.triplets.update(status="unresolved")
    ada = team.members["ada"]
    pile = Pile(team.campaign, What.UNRESOLVED, "ada", ada.worker_id)
    assert pile.done().triplets == 5
    work = take(ada, now=timezone.now())
    assert work
    assert (pile.done().triplets, pile.next([])) == (0, None)
    give_back(ada, work.assignment_id, now=timezone.now())
    assert pile.done().triplets == 5


def test_another_crowds_worker_of_the_same_id_is_somebody_else(
    member: Client, campaign: Campaign
) -> None:
    Worker.objects.filter(worker_id="INHOUSEADA1A").update(crowd="mturk")
    assert show(member) == unresolved(campaign)


@pytest.fixture
def inject() -> Callable[[Triplet], None]:
    def fill(triplet: Triplet) -> None:
        text = "<script>alert(1)</script>\" onload='x' {{ 7|add:7 }} ‮"
        candidate = triplet.candidate
        for row, names in (
            (candidate.query, ["text"]),
            (candidate.pair, ["question", "answer"]),
            (report(triplet, text), []),
        ):
            for name in names:
                setattr(row, name, text)
            row.save()
        ExpertLabel.objects.create(
            triplet=triplet, expert="<b>bob</b>", label=1, source="import", note=text
        )

    return fill


def test_hostile_texts_are_shown_as_texts(
    ada: Client, campaign: Campaign, inject: Callable[[Triplet], None]
) -> None:
    triplet = unresolved(campaign)
    inject(triplet)
    before = ada.get(ADDRESS).content.decode()
    after = ada.get(
        decide(ada, triplet, 0, note="</textarea><script>alert(2)</script>")["Location"]
    ).content.decode()
    for page, times in ((before, 3), (after, 5)):
        assert "<script>alert" not in page
        assert "<b>" not in page
        assert page.count("&lt;script&gt;alert(1)") == times
    assert "&lt;/textarea&gt;" in after


def test_the_page_loads_and_sends_to_nobody_else(ada: Client) -> None:
    policy = ada.get(ADDRESS)["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "form-action 'self'" in policy


def test_records_of_expert_labels_cannot_be_changed_in_admin(
    ada: Client, campaign: Campaign
) -> None:
    decide(ada, unresolved(campaign), 1, note="plain")
    root = at(User.objects.create_superuser("root"))
    assert "ada" in root.get(reverse("admin:annotation_expertlabel_changelist")).content.decode()
    assert root.get(reverse("admin:annotation_expertlabel_add")).status_code == 403
