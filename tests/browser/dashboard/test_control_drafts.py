"""Drafts of controls are decided by single keys, and edited by one, in a real browser."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Campaign
from tests.annotation.support.hits import make_campaign, make_hit
from tests.browser.conftest import sign_in


@pytest.fixture
def campaign(transactional_db: None) -> Campaign:
    campaign = make_campaign("demo")
    make_hit(campaign)
    query = campaign.query_set.queries.earliest("pk")
    for number in range(3):
        campaign.control_drafts.create(
            kind="positive",
            origin="rewording",
            query=query,
            question=f"draft {number}",
            answer="A.",
        )
    return campaign


def test_a_key_confirms_a_key_dismisses_and_a_key_leads_to_the_words(
    page: Page, live_server: LiveServer, campaign: Campaign
) -> None:
    sign_in(page, live_server.url)
    page.goto(f"{live_server.url}/admin/campaigns/demo/control-drafts")
    listens = page.get_by_label("Use single keys")  # shown by the script that does
    page.keyboard.press("y")
    expect(page.get_by_text("2 waiting, 1 confirmed, 0 dismissed")).to_be_visible()
    expect(listens).to_be_visible()
    page.keyboard.press("n")
    expect(page.get_by_text("1 waiting, 1 confirmed, 1 dismissed")).to_be_visible()
    expect(listens).to_be_visible()
    page.keyboard.press("e")
    question = page.get_by_label("Question")
    expect(question).to_be_focused()
    question.fill("yes, in my own words")
    question.press_sequentially(" by n")
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("0 waiting, 2 confirmed, 1 dismissed")).to_be_visible()
    questions = campaign.controls.filter(drafted=True).order_by("pk")
    assert [one.question for one in questions] == ["draft 0", "yes, in my own words by n"]
