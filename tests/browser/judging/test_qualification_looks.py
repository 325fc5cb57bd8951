"""The qualification test and the editor of the instructions, as people see them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from annotation.crowd.qualification_url import qualification_test_url
from annotation.models import Campaign
from annotation.pipeline.setup.default_instructions import default_instructions
from annotation.pipeline.setup.instructions import add_version
from annotation.pipeline.setup.qualification_items import create_qualification_items
from annotation.protocol.policy.policy import Policy
from tests.annotation.support.hits import make_campaign, make_hit
from tests.browser.conftest import PATIENCE_MS, CheckAccess, TakeShot
from tests.worlds.mturk import MTurk
from tests.worlds.small_campaign import Stage, packed_campaign
from tests.worlds.team import make_team

WIDE = {"width": 1280, "height": 900}
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": WIDE},
    "dark": {"viewport": WIDE, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True},
}


@pytest.fixture(params=LOOKS)
def look(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def page(look: str, browser: Browser, transactional_db: None) -> Iterator[Page]:
    with browser.new_context(**LOOKS[look]) as context:
        context.set_default_timeout(PATIENCE_MS)
        yield context.new_page()


@pytest.fixture
def campaign(live_server: LiveServer, settings: Settings) -> Campaign:
    settings.PUBLIC_URL = live_server.url
    campaign = make_campaign(text=default_instructions(Policy()), qualification_items=8)
    campaign.qualified_id = "3QUALIFIED"
    campaign.save()
    create_qualification_items(campaign, None)
    return campaign


def look_at(page: Page, name: str, axe: CheckAccess, shot: TakeShot) -> None:
    """No violation, nothing beside the screen, and a picture for people to judge."""
    axe(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    shot(page, name)


def answer(page: Page, campaign: Campaign, *, slips: int) -> None:
    for item in campaign.qualification_items.order_by("position"):
        value = item.expected if item.position >= slips else 1 - item.expected
        page.check(f"input[name='item-{item.position}'][value='{value}']", force=True)
    page.get_by_role("button", name="Check my answers").click()


def test_the_qualification_test_from_its_start_to_its_end(
    page: Page, look: str, campaign: Campaign, axe: CheckAccess, shot: TakeShot
) -> None:
    page.goto(qualification_test_url(campaign))
    page.click("summary")
    look_at(page, f"qualification-start-{look}", axe, shot)
    # Without the browser's own check, as one without it would send.
    page.evaluate("document.forms[0].noValidate = true")
    page.check("input[name='item-0'][value='1']", force=True)
    page.get_by_role("button", name="Check my answers").click()
    expect(page.get_by_role("alert")).to_contain_text("Your answers are still here")
    assert page.is_checked("input[name='item-0'][value='1']")
    look_at(page, f"qualification-missing-{look}", axe, shot)
    page.fill("#worker-id", "AADA")
    answer(page, campaign, slips=8)
    page.get_by_role("link", name="Try again").click()
    answer(page, campaign, slips=3)
    expect(page.get_by_role("status")).to_contain_text("you have 1 try left")
    look_at(page, f"qualification-feedback-{look}", axe, shot)
    page.get_by_role("link", name="Try again").click()
    answer(page, campaign, slips=4)
    expect(page.get_by_role("status")).to_contain_text("That was the last of 3 tries")
    look_at(page, f"qualification-failed-{look}", axe, shot)


def test_who_passes_sees_it_at_a_glance(
    page: Page, look: str, campaign: Campaign, axe: CheckAccess, shot: TakeShot
) -> None:
    page.goto(f"{qualification_test_url(campaign)}?workerId=AADA")
    look_at(page, f"qualification-instructions-{look}", axe, shot)
    answer(page, campaign, slips=1)
    expect(page.get_by_role("heading", name="You passed")).to_be_visible()
    look_at(page, f"qualification-passed-{look}", axe, shot)


def test_the_instructions_are_edited_beside_what_annotators_see(
    page: Page,
    look: str,
    campaign: Campaign,
    live_server: LiveServer,
    axe: CheckAccess,
    shot: TakeShot,
) -> None:
    make_hit(campaign)
    client = Client()
    client.force_login(User.objects.create_superuser("owner"))
    value = client.cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": value, "url": live_server.url}])
    page.goto(f"{live_server.url}/campaigns/faq/instructions")
    look_at(page, f"instructions-{look}", axe, shot)
    page.fill("#text", "# Rules\n\nShort **and** clear.\n\n| a | b |\n|--|--|\n| 1 | 2 |\n")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator(".prose strong")).to_have_text("and")
    look_at(page, f"instructions-preview-{look}", axe, shot)
    add_version(campaign, "# Theirs\n\nSaved meanwhile.", author="bob")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("somebody else has saved version 2")
    look_at(page, f"instructions-overtaken-{look}", axe, shot)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("Saved as version 3.")
    look_at(page, f"instructions-saved-{look}", axe, shot)


@pytest.mark.parametrize("look", ["light"], indirect=True)
def test_a_worker_goes_from_the_preview_through_the_qualification_test_to_the_hit(
    page: Page,
    live_server: LiveServer,
    settings: Settings,
    small_database: None,
    mturk: MTurk,
    tmp_path: Path,
    shot: TakeShot,
) -> None:
    settings.PUBLIC_URL = live_server.url
    rules = {"candidates_per_query": 1, "qualification_items": 4}
    stage = Stage(packed_campaign(tmp_path, **rules), mturk)
    stage.publish()
    ada = mturk.person("ada")
    page.goto(f"{mturk.url}/worker/{ada.id}/hits")
    page.get_by_role("link", name="Preview").click()
    way = page.frame_locator("iframe").get_by_role("link", name="qualification test")
    expect(way).to_be_visible()
    shot(page, "qualification-preview")
    with page.expect_popup() as opened:
        way.click()
    test_page = opened.value
    test_page.fill("#worker-id", ada.id)
    answer(test_page, stage.campaign, slips=0)
    expect(test_page.get_by_role("heading", name="You passed")).to_be_visible()
    page.get_by_role("button", name="Accept").click()
    expect(page.get_by_text("Your qualifications do not meet")).to_be_visible()
    stage.advance()
    page.goto(f"{mturk.url}/worker/{ada.id}/hits")
    page.get_by_role("button", name="Accept").click()
    expect(page.frame_locator("iframe").get_by_role("button", name="Submit")).to_be_visible()


@pytest.mark.parametrize("look", ["light"], indirect=True)
def test_a_member_goes_from_their_page_through_the_qualification_test_to_the_queue(
    page: Page,
    live_server: LiveServer,
    settings: Settings,
    small_database: None,
    tmp_path: Path,
    axe: CheckAccess,
    shot: TakeShot,
) -> None:
    settings.PUBLIC_URL = live_server.url
    team = make_team(tmp_path, live_server.url, qualification_items=4)
    team.sign_in(page, "ada")
    page.goto(f"{live_server.url}/work")
    look_at(page, "qualification-work-before", axe, shot)
    page.get_by_role("link", name="Take the test").click()
    look_at(page, "qualification-inhouse", axe, shot)
    answer(page, team.campaign, slips=0)
    look_at(page, "qualification-inhouse-passed", axe, shot)
    page.get_by_role("link", name="Go to your work").click()
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("button", name="Submit")).to_be_visible()
