"""A campaign that has made what it is for is called complete wherever its state is shown."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from annotation.analytics.campaign.completion import state_of
from annotation.analytics.campaign.snapshots import take
from annotation.analytics.campaign.status import campaign_status
from annotation.crowd.inhouse.models import Member
from annotation.models import Campaign
from annotation.pipeline.publishing.completion import is_complete
from annotation.pipeline.publishing.lifecycle import cancel
from exports.models import Release
from tests.annotation.pipeline.whole.own_crowd import Team, own_team
from tests.support.pages import Response, main_of, parse, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_database")]


def headings(response: Response) -> set[str]:
    return {each.text_content() for each in parse(response).xpath("//main//h2 | //main//dt")}


def cells(response: Response, label: str) -> list[list[str]]:
    rows = parse(response).xpath(f"//*[@aria-label='{label}']//tbody/tr")
    return [[cell.text_content() for cell in row] for row in rows]


@pytest.fixture
def client(small_database: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("owner"))
    return client


@pytest.fixture
def team(tmp_path: Path) -> Team:
    team = own_team(tmp_path)
    team.publish()
    for name in ("ada", "bob"):
        team.work(name)
    return team


def test_it_is_complete_when_nothing_is_open_or_under_way(team: Team) -> None:
    assert state_of(team.campaign) == ("active", "Active")
    assert team.advance().finished
    assert is_complete(team.campaign)
    assert campaign_status(team.campaign) == "complete: 25 of 25 triplets labelled"
    cancel(team.campaign, team.clock.now())
    assert not is_complete(Campaign.objects.get())


def test_every_face_says_so_and_offers_nothing_that_does_nothing(
    team: Team, client: Client
) -> None:
    team.advance()
    take(team.campaign, clock=team.clock.now)
    overview = client.get(f"/admin/campaigns/{team.campaign}/")
    assert '<span id="campaign-state" class="dash-badge dash-complete">Complete</span>' in (
        overview.content.decode()
    )
    assert [button.title for button in overview.context["overview"].buttons] == ["Reconcile"]
    assert "per hour" not in overview.content.decode()
    assert "25 of 25 triplets labelled" in main_of(overview)
    assert "Cost Nothing From publication to the last vote Less than a minute" in text_of(overview)
    assert not {"Money", "Reserved", "Left"} & headings(overview)
    assert "dash-complete" in client.get(reverse("dashboard")).content.decode()
    assert client.get("/api/v1/campaigns").json()["results"][0]["state"] == "complete"
    assert client.get(f"/api/v1/campaigns/{team.campaign}").json()["state"] == "complete"


def test_work_that_somebody_may_still_take_can_be_ended(team: Team, client: Client) -> None:
    """As after an owner has decided ties for which a third person was asked."""
    team.advance()
    team.campaign.hits.filter(number=1).update(max_assignments=3)
    take(team.campaign, clock=team.clock.now)
    overview = client.get(f"/admin/campaigns/{team.campaign}/").context["overview"]
    assert [button.title for button in overview.buttons] == ["Expire", "Reconcile"]


def test_a_complete_campaign_shows_its_releases_or_the_way_to_the_first(
    team: Team, client: Client
) -> None:
    team.advance()
    take(team.campaign, clock=team.clock.now)
    link = f'href="/campaigns/{team.campaign}/releases"'
    before = client.get(f"/admin/campaigns/{team.campaign}/").content.decode()
    assert f"{link}>Build a release</a>" in before
    Release.objects.create(
        campaign=team.campaign,
        number=1,
        prefix="faq/1",
        options={},
        stats={"splits": {"all": {"queries": 3, "triplets": 9}}},
        changes={},
        manifest_sha256="0" * 64,
    )
    after = client.get(f"/admin/campaigns/{team.campaign}/").content.decode()
    assert f'href="/campaigns/{team.campaign}/releases/1">Release 1</a>' in after
    assert "3 queries, 9 triplets" in after
    assert f"{link}>See all releases</a>" in after


def test_pairs_of_a_team_are_named_on_pages_and_have_worker_ids_for_programs(
    team: Team, client: Client
) -> None:
    """Ada and bob say no to everything: by chance alone they would, so no kappa is defined."""
    team.advance()
    take(team.campaign, clock=team.clock.now)
    pages = f"/admin/campaigns/{team.campaign}/", f"/admin/campaigns/{team.campaign}/workers/"
    for page in pages:
        found = cells(client.get(page), "Agreement by pair, table")
        assert found == [["ada", "bob", "25", "1.000", "\N{EN DASH}"]]
    ids = [Member.objects.get(user__username=name).worker_id for name in ("ada", "bob")]
    figures = client.get(f"/api/v1/campaigns/{team.campaign}/workforce").json()["figures"]
    assert (figures["pairs_in_all"], figures["pairs"][0]["shared"]) == (1, 25)
    assert {figures["pairs"][0][place] for place in ("first", "second")} == set(ids)
