"""A campaign that has made what it is for is called complete wherever its state is shown."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from annotation.analytics.campaign.completion import state_of
from annotation.analytics.campaign.snapshots import take
from annotation.analytics.campaign.status import campaign_status
from annotation.models import Campaign
from annotation.pipeline.publishing.completion import is_complete
from annotation.pipeline.publishing.lifecycle import cancel
from tests.annotation.pipeline.whole.own_crowd import Team, own_team

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_database")]


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


def test_every_face_says_so_and_offers_nothing_that_does_nothing(team: Team) -> None:
    team.advance()
    take(team.campaign, clock=team.clock.now)
    client = Client()
    client.force_login(User.objects.create_superuser("owner"))
    overview = client.get(f"/admin/campaigns/{team.campaign}/")
    assert '<span id="campaign-state" class="dash-badge dash-complete">Complete</span>' in (
        overview.content.decode()
    )
    assert [button.title for button in overview.context["overview"].buttons] == ["Reconcile"]
    assert "per hour" not in overview.content.decode()
    assert "dash-complete" in client.get(reverse("dashboard")).content.decode()
    assert client.get("/api/v1/campaigns").json()["results"][0]["state"] == "complete"
    assert client.get(f"/api/v1/campaigns/{team.campaign}").json()["state"] == "complete"
