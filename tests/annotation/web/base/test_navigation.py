"""The side bar says where the reader is, once."""

from typing import Any

import pytest

from annotation.models import Campaign
from tests.annotation.web.base.readers import root
from tests.exports.support.campaigns import make_campaign

pytestmark = pytest.mark.django_db


def marked(response: Any) -> list[str]:
    items = [item for group in response.context["sidebar_navigation"] for item in group["items"]]
    return [str(item["title"]) for item in items if item["active"]]


def test_each_page_marks_its_own_link() -> None:
    for page, title in [
        ("campaigns/", "Campaigns"),
        ("campaigns/new", "Campaigns"),
        ("controls/", "Controls"),
        ("controls/import", "Controls"),
        ("database/", "Pairs and indexes"),
        ("database/pairs", "Pairs and indexes"),
        ("database/search", "Search"),
        ("database/ask", "Ask"),
        ("database/models", "Models"),
        ("database/trainings", "Trainings"),
        ("database/import", "Import"),
        ("log/", "Log"),
        ("", "Admin"),
        ("auth/user/", "Admin"),
    ]:
        assert marked(root().get(f"/admin/{page}")) == [title]


@pytest.mark.parametrize("name", ["team", "log", "api"])
def test_a_campaign_named_like_a_page_marks_the_campaigns_alone(name: str) -> None:
    campaign: Campaign = make_campaign()
    Campaign.objects.filter(pk=campaign.pk).update(name=name)
    for tab in ("", "log/", "workers/"):
        assert marked(root().get(f"/admin/campaigns/{name}/{tab}")) == ["Campaigns"]
