"""The pages of the site for people with a role, who are not of the staff."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation.models import AuditEntry, Campaign, ExpertLabel
from exports.delivery.signed_links import LinkError, follow, link
from exports.models import Build, Release
from tests.annotation.support.experts import ADDRESS, decide, unresolved
from tests.annotation.support.parts import at, client_with, with_role
from tests.exports.support.campaigns import make_campaign
from tests.exports.support.stored_release import stored_release
from tests.exports.web.pages import copy_of

pytestmark = pytest.mark.django_db
WORDING = "/campaigns/demo/instructions"
RELEASES = "/campaigns/demo/releases"
FORM = {"split": "clusters", "judgments": "on"}


@pytest.fixture
def campaign() -> Campaign:
    return make_campaign()


@pytest.fixture
def other(campaign: Campaign) -> Campaign:
    return make_campaign({"fog": ["ada+ bob+"]}, name="other", candidates_per_query=1)


@pytest.fixture
def release(campaign: Campaign) -> Release:
    return stored_release(campaign)


@pytest.mark.parametrize(
    ("role", "status"), [("owner", 200), ("manager", 200), ("adjudicator", 200), ("viewer", 403)]
)
def test_adjudicators_label_without_being_of_the_staff(
    campaign: Campaign, role: str, status: int
) -> None:
    client = client_with(role, campaign)
    assert client.get(ADDRESS).status_code == status
    answer = decide(client, unresolved(campaign), 1)
    assert answer.status_code == (303 if status == 200 else 403)
    assert ExpertLabel.objects.count() == (status == 200)


def test_a_role_elsewhere_opens_nothing_here(campaign: Campaign, other: Campaign) -> None:
    client = client_with("owner", other)
    for address in (ADDRESS, WORDING, RELEASES):
        assert client.get(address).status_code in {403, 404}, address
    assert decide(client, unresolved(campaign), 1).status_code == 404
    assert client.post(WORDING, {"text": "new", "save": "1"}).status_code == 404
    assert not AuditEntry.objects.exists()


def test_the_wording_is_read_by_viewers_and_written_by_managers(campaign: Campaign) -> None:
    form = {"text": "Another wording.", "based_on": "1", "save": "1"}
    viewer, manager = client_with("viewer", campaign), client_with("manager", campaign)
    assert viewer.get(WORDING).status_code == 200
    assert viewer.post(WORDING, form).status_code == 403
    assert manager.post(WORDING, form).status_code == 200
    assert campaign.instructions.latest("version").author == "a-manager"


def test_a_label_s_row_in_the_log_does_not_tell_the_label(campaign: Campaign) -> None:
    """Other experts read the log, and are to decide blind."""
    client, triplet = client_with("adjudicator", campaign), unresolved(campaign)
    decide(client, triplet, 1)
    decide(client, triplet, 0)
    first, second = AuditEntry.objects.order_by("pk")
    assert (first.verb, first.subject) == ("label", f"triplet {triplet.pk}")
    assert first.details == {"pile": "unresolved", "again": False}
    assert second.details == {"pile": "unresolved", "again": True}


def test_lists_show_releases_of_ones_own_campaigns_alone(release: Release, other: Campaign) -> None:
    copy_of(release, other, 1)
    viewer = client_with("viewer", release.campaign)
    assert [one.campaign.name for one in viewer.get("/releases").context["releases"]] == ["demo"]
    assert viewer.get(f"{RELEASES}/1").status_code == 200
    assert viewer.get("/campaigns/other/releases").status_code == 404
    assert viewer.get("/campaigns/other/releases/1").status_code == 404
    assert viewer.get("/campaigns/other/releases/1/plots/hit-at-k.svg").status_code == 404
    everywhere = client_with("viewer", None, "everywhere")
    assert len(everywhere.get("/releases").context["releases"]) == 2


def test_an_annotator_and_a_stranger_download_nothing(release: Release) -> None:
    for client in (client_with("annotator", release.campaign), at(User.objects.create_user("eve"))):
        for address in ("/releases", RELEASES, f"{RELEASES}/1"):
            assert client.get(address).status_code == 403


def test_a_link_opens_as_long_as_its_account_may_download_from_that_campaign(
    release: Release, other: Campaign
) -> None:
    viewer = with_role("vera", "viewer", release.campaign)
    stranger = with_role("eve", "viewer", other)
    file = release.files.get(path="train.jsonl")
    token, name = link(file, viewer).split("/")[2:]
    assert Client().get(f"/releases/{token}/{name}").status_code == 200
    theirs, _ = link(file, stranger).split("/")[2:]
    with pytest.raises(LinkError, match="may not download"):
        follow(theirs, name)
    viewer.roles.all().delete()
    assert Client().get(f"/releases/{token}/{name}").status_code == 403


def test_managers_ask_for_builds_and_viewers_do_not(campaign: Campaign) -> None:
    viewer, manager = client_with("viewer", campaign), client_with("manager", campaign)
    assert viewer.post(f"{RELEASES}/build", FORM).status_code == 403
    assert b"<form" not in viewer.get(RELEASES).content.split(b"</header>")[1]
    answer = manager.post(f"{RELEASES}/build", FORM | {"partial": "on"})
    assert answer.status_code == 302, answer.content
    build = Build.objects.get()
    (row,) = AuditEntry.objects.all()
    assert (row.actor, row.verb, row.campaign) == ("a-manager", "build-release", campaign)
    assert row.details == build.options


def test_the_site_s_head_leads_where_the_reader_may_go(campaign: Campaign) -> None:
    def max_assignments(client: Client) -> set[str]:
        head = client.get("/password").content.decode().partition("</header>")[0]
        return {word for word in ("Campaigns", "Releases", "Team", "Admin") if word in head}

    assert max_assignments(client_with("viewer", campaign)) == {"Campaigns", "Releases"}
    assert max_assignments(client_with("annotator", campaign)) == set()
    assert max_assignments(at(User.objects.create_user("carla", is_staff=True))) == {
        "Campaigns", "Team", "Admin",
    }  # fmt: skip
