"""A second crowd: who may make one, who owns it, and where pages speak of it."""

from pathlib import Path

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from annotation.analytics.campaign.snapshots import take
from annotation.models import Campaign, Role
from annotation.pipeline.publishing.pack import pack_hits
from annotation.pipeline.publishing.second_crowd import create_second_crowd
from annotation.protocol.policy.crowds import MTURK
from tests.annotation.api.people import Program, person
from tests.annotation.web.base.readers import at, plays
from tests.worlds.small_campaign import retrieved_campaign

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_database")]
PAGE = "/admin/campaigns/{}/"
OPERATION = PAGE + "operations/second-crowd"
WANTED = {
    "crowd": "inhouse",
    "queries": 2,
    "seed": 1,
    "second": "team",
    "agreed": "on",
}


@pytest.fixture
def first(tmp_path: Path) -> Campaign:
    return retrieved_campaign(tmp_path)


@pytest.mark.parametrize(
    ("role", "may_create", "status"),
    [("manager", True, 200), ("manager", False, 403), ("viewer", True, 403), ("", True, 403)],
)
def test_it_takes_the_right_to_create_and_to_run_the_first(
    first: Campaign, role: str, may_create: bool, status: int
) -> None:
    user = person("ada", first, role)
    if may_create:
        user.user_permissions.add(Permission.objects.get(codename="add_campaign"))
    if not role:  # of another campaign, so that the site is open to them; this one they do not see
        status = 404
    sent = {"crowd": "inhouse", "queries": 1, "agreed": False}
    call = Program(user).post("campaigns/faq/operations/second-crowd", sent)
    assert (at(user).get(OPERATION.format("faq")).status_code, call.status_code) == (status, status)
    is_offered = b"Add a second crowd" in at(user).get(PAGE.format("faq") + "milestones").content
    assert is_offered == (status == 200)


def test_owners_of_the_first_own_the_second_and_so_does_its_maker(first: Campaign) -> None:
    person("olga", first, "owner")
    maker = person("mara", first, "manager")
    maker.user_permissions.add(Permission.objects.get(codename="add_campaign"))
    assert at(maker).post(OPERATION.format("faq"), WANTED).status_code == 302
    roles = Role.objects.filter(campaign__name="team").values_list("user__username", "name")
    assert set(roles) == {("olga", "owner"), ("mara", "owner")}


def test_each_overview_says_who_judges_what_and_leads_to_the_other(
    first: Campaign, admin_client: Client
) -> None:
    assert b"Several crowds" not in admin_client.get(PAGE.format("faq")).content
    create_second_crowd(first, "team", crowd="inhouse", queries=2, seed=1)
    link = '<a href="/admin/campaigns/{0}/">{0}</a>'
    said = f"{{}} ({MTURK.title}) 3 queries, {{}} (your own team) 2 queries. Releases of faq hold"
    for client, name, words in (
        (admin_client, "faq", said.format("faq", link.format("team"))),
        (admin_client, "team", said.format(link.format("faq"), "team")),
    ):
        assert words in client.get(PAGE.format(name)).content.decode()
    assert b"second crowd of faq" in admin_client.get("/admin/campaigns/").content
    for name in ("faq", "team"):
        offered = (
            b"Add a second crowd" in admin_client.get(PAGE.format(name) + "milestones").content
        )
        assert offered == (name == "faq")


@pytest.mark.parametrize(("seen", "other"), [("start", "helpers"), ("helpers", "start")])
def test_who_has_no_part_in_the_other_does_not_read_its_name(
    tmp_path: Path, seen: str, other: str
) -> None:
    create_second_crowd(
        retrieved_campaign(tmp_path, "start"), "helpers", crowd="inhouse", queries=2, seed=1
    )
    viewer = plays("viewer", Campaign.objects.get(name=seen))
    listed = viewer.get("/admin/campaigns/").content.decode()
    overview = viewer.get(PAGE.format(seen)).content.decode()
    assert "a campaign that you do not see (" in overview
    assert other not in listed + overview


def test_a_release_is_offered_by_the_first_alone(first: Campaign, admin_client: Client) -> None:
    for one in (first, create_second_crowd(first, "team", crowd="inhouse", queries=2, seed=1)):
        pack_hits(one)
        one.triplets.update(status="labelled", label=0, label_source="majority")
        take(one)
        offered = b"Build a release" in admin_client.get(PAGE.format(one)).content
        assert offered == (one == first)
