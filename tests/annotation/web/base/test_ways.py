"""Nobody who runs a campaign ends at a page that leads nowhere: the next step is a link."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from lxml import html

from annotation.analytics.campaign.snapshots import take
from annotation.models import Campaign, Triplet
from tests.annotation.web.base.readers import at, plays
from tests.exports.support.campaigns import make_campaign

pytestmark = pytest.mark.django_db

OVERVIEW = "/admin/campaigns/demo/"
RELEASES = "/campaigns/demo/releases"


@pytest.fixture
def campaign() -> Campaign:
    return make_campaign({"wool": ["ada+ bob+", "ada- bob-"]})


def links(response: Any) -> dict[str, str]:
    """Of the page's own part, by their words."""
    page: Any = html.fromstring(response.content)
    found = page.xpath("//main//a[@href]")
    return {" ".join(one.text_content().split()): one.get("href") for one in found}


def test_a_decided_campaign_leads_to_its_release(campaign: Campaign) -> None:
    take(campaign)
    assert links(plays("owner", campaign).get(OVERVIEW))["Build a release"] == RELEASES
    shown = links(plays("viewer", campaign).get(OVERVIEW))
    assert shown["See all releases"] == RELEASES
    assert "Build a release" not in shown


def test_one_with_open_triplets_does_not(campaign: Campaign) -> None:
    Triplet.objects.filter(pk=campaign.triplets.earliest("pk").pk).update(status="open", label=None)
    take(campaign)
    assert "Build a release" not in links(plays("owner", campaign).get(OVERVIEW))


def test_who_may_only_download_is_not_led_where_nothing_is_theirs(campaign: Campaign) -> None:
    user = User.objects.create_user("cleo")
    user.user_permissions.add(Permission.objects.get(codename="download_release"))
    shown = at(user).get(RELEASES)
    assert shown.status_code == 200
    page = html.fromstring(shown.content)
    inside = {link for link in page.xpath("//a/@href") if link.startswith("/admin/campaigns/")}
    assert inside == set()
