"""An expert without another part learns of a triplet what the crowd said after their own label.

A person with two accounts is two people: that no rule here can see.
"""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from annotation.access.roles import entries_seen_by, is_blind
from annotation.models import (
    AuditEntry,
    Campaign,
    ControlCandidate,
    HitItem,
    ItemReport,
    Role,
    Triplet,
)
from tests.annotation.api.people import Program, person
from tests.annotation.support.experts import ADDRESS, decide, expert, shown
from tests.annotation.support.parts import at
from tests.exports.support.campaigns import make_campaign
from tests.exports.support.stored_release import stored_release

pytestmark = pytest.mark.django_db
API = "campaigns/demo"
# Where label or votes of triplets can be read.
TELLING = (
    "hits", "assignments", "workers", "worker-figures", "workforce", "disagreements",
    "control-candidates", "reports", "releases/1",
)  # fmt: skip
PAGES = (
    "campaign-triplets", "campaign-hits", "campaign-assignments", "campaign-workers",
    "campaign-reports", "campaign-log", "campaign-releases",
)  # fmt: skip


@pytest.fixture
def campaign() -> Campaign:
    return make_campaign()


@pytest.fixture
def blind(campaign: Campaign) -> User:
    return person("cleo", campaign, "adjudicator")


def first(campaign: Campaign) -> Triplet:
    return campaign.triplets.filter(status="labelled").earliest("pk")


def label(program: Program, pile: str = "sample") -> int:
    """Of what comes next in the pile; its triplet."""
    given = program.get(f"{API}/expert-labels/next?pile={pile}").json()
    triplet: int = given["next"]["triplet"]
    sent = {"triplet": triplet, "label": 1, "pile": pile, "draw": given["draw"]}
    assert program.post(f"{API}/expert-labels", sent).status_code == 201
    return triplet


def test_the_api_tells_a_blind_expert_of_their_own_triplets_alone(
    campaign: Campaign, blind: User
) -> None:
    program, other = Program(blind), first(campaign).pk
    for path in (f"triplets/{other}", f"triplets/{other}/votes"):
        assert program.get(f"{API}/{path}").status_code == 404, path
    for path in ("triplets", "triplets?label=1", "triplets?votes=2", "labels", "labels?label=0"):
        assert program.get(f"{API}/{path}").json()["results"] == [], path
    mine = label(program)
    for path in ("triplets", "labels"):
        rows = program.get(f"{API}/{path}").json()["results"]
        assert [row["triplet"] for row in rows] == [mine], path
    assert program.get(f"{API}/triplets/{mine}/votes").json()["votes"]


def test_no_list_no_release_and_no_log_tells_more(campaign: Campaign, blind: User) -> None:
    stored_release(campaign)
    program = Program(blind)
    for path in TELLING:
        assert program.get(f"{API}/{path}").status_code == 403, path
    client = at(blind)
    for name in PAGES:
        assert client.get(reverse(name, args=["demo"])).status_code == 403, name
    hit = campaign.hits.earliest("pk")
    assert client.get(reverse("campaign-hit", args=["demo", hit.pk])).status_code == 403
    assert client.get("/releases").status_code == 403
    AuditEntry.objects.create(actor="ada", via="page", verb="confirm-control", campaign=campaign)
    assert not entries_seen_by(blind).exists()
    assert program.get("log").json()["results"] == []


def test_the_page_of_a_triplet_tells_its_texts_until_they_have_decided(
    campaign: Campaign, blind: User
) -> None:
    client = at(blind)
    triplet = campaign.triplets.get(status="unresolved")
    address = reverse("campaign-triplet", args=["demo", triplet.pk])
    page = client.get(address).content.decode()
    assert triplet.candidate.pair.question in page
    assert "after you have labelled" in page
    for told in ("votes count", "Unresolved</span>", "third", "HITs with this triplet"):
        assert told not in page, told
    decide(client, triplet, 1)
    assert "4 of 4 votes count: 2 Yes, 2 No." in client.get(address).content.decode()


def test_the_review_page_tells_a_blind_expert_of_no_disagreement(
    campaign: Campaign, blind: User
) -> None:
    address = reverse("campaign-review", args=["demo"])
    disputed = campaign.triplets.filter(status="labelled", votes=3).earliest("pk")
    link = reverse("campaign-triplet", args=["demo", disputed.pk])
    page = at(blind).get(address).content.decode()
    assert (link in page, "No other positive" in page) == (False, False)
    owner = at(person("olga", campaign, "owner")).get(address).content.decode()
    assert (link in owner, "No other positive" in owner) == (True, True)


def test_neither_candidates_for_controls_nor_the_words_of_reports_tell_what_the_crowd_said(
    campaign: Campaign, blind: User
) -> None:
    ControlCandidate.objects.create(triplet=first(campaign))
    item = HitItem.objects.filter(hit__campaign=campaign, triplet__isnull=False).earliest("pk")
    assignment = item.hit.assignments.earliest("pk")
    ItemReport.objects.create(
        item=item, assignment=assignment, reason="other", text="These ask the same."
    )
    told = {"campaign-controls": "whose votes all agree", "campaign-review": "These ask the same."}
    owner = at(person("olga", campaign, "owner"))
    for name, words in told.items():
        address = reverse(name, args=["demo"])
        seen = [words in one.get(address).content.decode() for one in (at(blind), owner)]
        assert seen == [False, True], name


@pytest.mark.parametrize("role", ["owner", "manager"])
def test_who_may_see_the_votes_is_given_no_sample(campaign: Campaign, role: str) -> None:
    user = person("olga", campaign, role)
    answer = Program(user).get(f"{API}/expert-labels/next?pile=sample")
    assert (answer.status_code, "cannot see the votes" in answer.json()["detail"]) == (403, True)
    sent = {"triplet": first(campaign).pk, "label": 1, "pile": "sample"}
    assert Program(user).post(f"{API}/expert-labels", sent).status_code == 403
    page = at(user).get(f"{ADDRESS}?what=sample")
    assert (page.status_code, "cannot see the votes" in page.content.decode()) == (404, True)
    assert "Random sample" not in at(user).get(ADDRESS).content.decode()


def sees(user: User, campaign: Campaign) -> bool:
    return not is_blind(User.objects.get(pk=user.pk), campaign)


def test_another_part_or_permission_takes_the_blindness_away(campaign: Campaign) -> None:
    for number, name in enumerate(
        ["view_judgment", "view_triplet", "change_control", "download_release"]
    ):
        user = person(f"cleo-{number}", campaign, "adjudicator")
        assert not sees(user, campaign)
        user.user_permissions.add(Permission.objects.get(codename=name))
        assert sees(user, campaign), name
    user = person("vera", campaign, "adjudicator")
    Role.objects.create(user=user, campaign=None, name="viewer")
    assert sees(user, campaign)
    assert sees(User.objects.create_superuser("root"), campaign)


def test_experts_of_the_staff_are_blind_and_others_of_the_staff_read_everything(
    campaign: Campaign,
) -> None:
    ada, dan = expert("ada"), User.objects.create_user("dan", is_staff=True)
    assert (sees(ada, campaign), sees(dan, campaign)) == (False, True)
    entry = AuditEntry.objects.create(actor="x", via="page", verb="pause", campaign=campaign)
    assert (list(entries_seen_by(ada)), list(entries_seen_by(dan))) == ([], [entry])
    assert shown(at(ada).get(ADDRESS, {"what": "sample"})) is not None
    page = reverse("campaign-triplets", args=["demo"])
    assert [at(user).get(page).status_code for user in (ada, dan)] == [403, 200]


def test_the_tabs_of_a_blind_expert_lead_nowhere_that_is_refused(blind: User) -> None:
    client: Client = at(blind)
    tabs = client.get(reverse("campaign-review", args=["demo"])).context["tabs"]
    assert {client.get(tab.link).status_code for tab in tabs} == {200}
