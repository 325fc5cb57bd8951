"""The row of tabs over a campaign's pages: the reader always sees under which one they are."""

import pytest

from annotation.urls import urlpatterns as site
from annotation.web.base.layout import TABS, UNDER
from annotation.web.urls import urlpatterns as dashboard
from exports.urls import urlpatterns as releases
from tests.annotation.support.hits import make_campaign, make_hit
from tests.annotation.web.base.readers import root

NAMES = {name for _, name, _ in TABS}
# What is no page: files, parts of pages, and what only takes a form.
NO_PAGES = {
    "ask-for-release",
    "build-state",
    "campaign-chart",
    "campaign-count",
    "campaign-live",
    "campaign-way",
    "campaign-worker-csv",
    "campaign-worker-exclusion-impact",
    "campaign-workers-csv",
    "find-control-candidates",
    "people",
    "plot",
}


def test_every_page_of_a_campaign_has_a_tab_or_stands_under_one() -> None:
    names = {
        one.name
        for one in (*dashboard, *site, *releases)
        if str(one.pattern).startswith("campaigns/<slug:name>/")
    }
    assert names - NO_PAGES <= NAMES | UNDER.keys()
    assert UNDER.keys() <= names - NAMES
    assert set(UNDER.values()) <= NAMES


@pytest.mark.django_db
def test_the_tab_says_whether_it_is_the_page_itself() -> None:
    campaign = make_campaign()
    hit = make_hit(campaign)
    client, here = root(), "/admin/campaigns/faq/hits/"
    marked = '<a href="/admin/campaigns/faq/hits/" aria-current="{}">HITs</a>'
    assert marked.format("page") in client.get(here).content.decode()
    page = client.get(f"{here}{hit.pk}").content.decode()
    assert marked.format("true") in page
    assert page.count('aria-current="page"') == 0
