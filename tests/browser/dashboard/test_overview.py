"""The overview of a campaign in a real browser: it moves while somebody looks at it."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.analytics.campaign.snapshots import take
from tests.browser.conftest import sign_in
from tests.browser.eye import OWN_WORK, PHONE, Eye
from tests.worlds.small_campaign import Stage


@pytest.fixture
def overview(page: Page, live_server: LiveServer, framed: Stage) -> Page:
    sign_in(page, live_server.url)
    page.goto(f"{live_server.url}/admin/campaigns/faq/")
    return page


def stage_of(page: Page, title: str) -> str:
    return page.locator(".overview-stages > div", has_text=title).locator("dd").first.inner_text()


def test_new_figures_come_without_a_reload(overview: Page, framed: Stage) -> None:
    expect(overview.get_by_text("Counted")).to_be_visible()
    assert (stage_of(overview, "Published"), stage_of(overview, "Labelled")) == ("5", "0")
    votes = overview.locator("section", has=overview.get_by_role("heading", name="Votes per"))
    votes.locator("summary").click()
    overview.evaluate("window.sameDocument = true")
    framed.work("ada", 1, 1)
    framed.work("bob", 1, 1)
    framed.advance()
    take(framed.campaign)
    expect(overview.get_by_text("5 of 5 triplets labelled")).to_be_visible()
    assert (stage_of(overview, "Judged"), stage_of(overview, "Labelled")) == ("5", "5")
    assert overview.evaluate("window.sameDocument")
    # What was open stays open, with the new figures in it.
    rows = votes.locator("tbody tr")
    expect(rows.last).to_be_visible()
    expect(rows).to_have_text(["0 0", "1 0", "2 5"], use_inner_text=True)
    expect(votes.locator("summary")).to_be_focused()


def test_the_state_at_the_head_turns_too(overview: Page, framed: Stage) -> None:
    badge = overview.locator("#campaign-state")
    expect(badge).to_have_text("Active")
    framed.campaign.state = "paused"
    framed.campaign.save()
    expect(badge).to_have_text("Paused")
    expect(overview.get_by_role("link", name="Resume").first).to_be_visible()


def test_it_is_open_to_everybody_in_light_and_dark_and_on_a_phone(
    overview: Page, framed: Stage
) -> None:
    framed.work("ada", 1, 1)
    framed.work("bob", 1, lambda query, _: int(query != "bread"))
    framed.advance()
    take(framed.campaign)
    eye = Eye(overview, at=PHONE, other=OWN_WORK, thorough=True)
    overview.reload()
    expect(overview.get_by_text("Counted")).to_be_visible()
    eye.look("overview")
    overview.get_by_role("link", name="Campaigns").last.click()
    overview.wait_for_url("**/admin/campaigns/")
    expect(overview.get_by_text("triplets labelled")).to_be_visible()
    eye.look("campaigns")
    eye.assert_well()
