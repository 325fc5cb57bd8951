"""The qualification test and the editor of the instructions, as people see them."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from annotation.crowd.qualification_url import qualification_test_url
from annotation.models import Campaign
from annotation.pipeline.manual.qualification import items_of_try
from annotation.pipeline.setup.default_instructions import default_instructions
from annotation.pipeline.setup.instructions import add_version
from annotation.pipeline.setup.qualification_items import create_qualification_items
from annotation.protocol.policy.policy import Policy
from tests.annotation.support.hits import make_campaign, make_hit
from tests.browser.conftest import sign_in
from tests.browser.eye import OWN_WORK, PHONE, Eye
from tests.browser.judging.judging_page import ready
from tests.worlds.account import Account
from tests.worlds.small_campaign import Stage, packed_campaign
from tests.worlds.team import make_team


@pytest.fixture
def campaign(live_server: LiveServer, settings: Settings) -> Campaign:
    settings.PUBLIC_URL = live_server.url
    campaign = make_campaign(text=default_instructions(Policy()), qualification_items=8)
    campaign.qualified_id = "3QUALIFIED"
    campaign.save()
    create_qualification_items(campaign, None)
    return campaign


def values(campaign: Campaign, *, slips: int = 0, before: int = 0) -> list[int]:
    items = enumerate(items_of_try(campaign, before))
    return [one.expected if number >= slips else 1 - one.expected for number, one in items]


def answer(page: Page, campaign: Campaign, *, slips: int, before: int = 0) -> None:
    ready(page)
    page.locator("fieldset[data-item]").first.focus()
    for value in values(campaign, slips=slips, before=before):
        page.keyboard.press("y" if value else "n")
    page.get_by_role("button", name="Submit").click()


@pytest.fixture
def eye(page: Page, live_server: LiveServer, campaign: Campaign) -> Eye:
    return Eye(page, live_server.url, at=PHONE, other=OWN_WORK, thorough=True)


def test_the_qualification_test_from_its_start_to_its_end(eye: Eye, campaign: Campaign) -> None:
    page = eye.page
    page.goto(qualification_test_url(campaign))
    eye.look("qualification-start")
    page.get_by_role("button", name="Submit").click()
    expect(page.locator("fieldset.unanswered")).to_have_count(8)
    eye.look("qualification-missing")
    answer(page, campaign, slips=8)
    expect(page.get_by_role("alert")).to_contain_text("Your answers are still here")
    ready(page)
    expect(page.locator(".count")).to_have_text("8 of 8")
    eye.look("qualification-no-id")
    page.fill("#worker-id", "AADA")
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("link", name="Try again").click()
    answer(page, campaign, slips=3, before=1)
    expect(page.locator(".outcome")).to_contain_text("you have 1 try left")
    eye.look("qualification-feedback")
    page.get_by_role("link", name="Try again").click()
    answer(page, campaign, slips=4, before=2)
    expect(page.locator(".outcome")).to_contain_text("That was the last of 3 tries")
    eye.look("qualification-failed")
    page.goto(f"{qualification_test_url(campaign)}?workerId=AEVE")
    eye.look("qualification-instructions")
    answer(page, campaign, slips=1)
    expect(page.get_by_role("heading", name="You passed")).to_be_visible()
    eye.look("qualification-passed")
    eye.assert_well()


def test_it_is_taken_with_the_keys_of_a_task(page: Page, campaign: Campaign) -> None:
    page.goto(f"{qualification_test_url(campaign)}?workerId=AADA")
    ready(page)
    keys = ["y" if value else "n" for value in values(campaign)]
    for key in keys[:7]:
        page.keyboard.press(key)
    expect(page.locator(".count")).to_have_text("7 of 8")
    page.keyboard.press("u")
    expect(page.locator(".count")).to_have_text("6 of 8")
    page.keyboard.press("ArrowUp")
    expect(page.locator("fieldset[aria-current] legend")).to_contain_text("Item 6")
    page.keyboard.press("Enter")  # to the first without an answer
    expect(page.locator("fieldset[aria-current] legend")).to_contain_text("Item 7")
    page.reload()
    expect(page.locator(".count")).to_have_text("6 of 8")
    for key in keys[6:]:
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="You passed")).to_be_visible()


def test_another_try_starts_without_the_answers_of_the_last_one(
    page: Page, campaign: Campaign
) -> None:
    page.goto(f"{qualification_test_url(campaign)}?workerId=AADA")
    answer(page, campaign, slips=8)
    page.get_by_role("link", name="Try again").click()
    expect(page.locator(".count")).to_have_text("0 of 8")


def test_without_scripts_it_is_a_form(browser: Browser, campaign: Campaign) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{qualification_test_url(campaign)}?workerId=AADA")
        for position, value in enumerate(values(campaign)):
            page.check(f"input[name='item-{position}'][value='{value}']", force=True)
        page.get_by_role("button", name="Submit").click()
        expect(page.get_by_role("heading", name="You passed")).to_be_visible()


def test_the_instructions_are_edited_beside_what_annotators_see(
    eye: Eye, campaign: Campaign
) -> None:
    make_hit(campaign)
    page = eye.page
    sign_in(page, eye.url, "owner")
    eye.open("/campaigns/faq/instructions")
    page.fill("#text", "# Rules\n\nShort **and** clear.\n\n| a | b |\n|--|--|\n| 1 | 2 |\n")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator(".markdown strong")).to_have_text("and")
    eye.look("instructions-preview")
    add_version(campaign, "# Theirs\n\nSaved meanwhile.", author="bob")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("somebody else has saved version 2")
    eye.look("instructions-overtaken")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("Saved as version 3.")
    eye.look("instructions-saved")
    eye.assert_well()


def test_a_worker_goes_from_the_preview_through_the_qualification_test_to_the_hit(
    page: Page,
    live_server: LiveServer,
    settings: Settings,
    small_database: None,
    mturk: Account,
    tmp_path: Path,
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


def test_a_member_goes_from_their_page_through_the_qualification_test_to_the_queue(
    page: Page,
    live_server: LiveServer,
    settings: Settings,
    small_database: None,
    tmp_path: Path,
) -> None:
    settings.PUBLIC_URL = live_server.url
    team = make_team(tmp_path, live_server.url, qualification_items=4)
    team.sign_in(page, "ada")
    eye = Eye(page, live_server.url)
    eye.open("/work")
    page.get_by_role("link", name="Take the test").click()
    eye.look("qualification-inhouse")
    answer(page, team.campaign, slips=0)
    expect(page.get_by_role("heading", name="You passed")).to_be_visible()
    eye.look("qualification-inhouse-passed")
    eye.assert_well()
    page.get_by_role("link", name="Go to your work").click()
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("button", name="Submit")).to_be_visible()
