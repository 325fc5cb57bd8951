"""A HIT of the site's Turk, as a worker's browser goes through it and back."""

from pathlib import Path

from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from annotation.crowd.turk.accounts import create_account
from tests.annotation.crowd.emulator.forms import html_question
from tests.annotation.support.turk import client_of, post_hit
from tests.annotation.web.stage import make_member
from tests.browser.test_requesters_page import PAGE


def test_going_back_after_a_submit_says_that_the_work_is_submitted(
    page: Page, live_server: LiveServer, settings: Settings, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    settings.PUBLIC_URL = live_server.url
    labs = client_of(create_account("lab"), live_server.url)
    post_hit(labs, Question=html_question(PAGE))
    client = Client()
    client.force_login(make_member("ada").user)
    value = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies(
        [{"name": settings.SESSION_COOKIE_NAME, "value": value, "url": live_server.url}]
    )
    page.goto(f"{live_server.url}/work/turk/sandbox")
    page.get_by_role("link", name="Preview").click()
    page.get_by_role("button", name="Accept").click()
    expect(page.get_by_role("button", name="Return it")).to_be_visible()
    frame = page.frame_locator("iframe")
    frame.locator("textarea").fill("red")
    frame.locator("#submitButton").click()
    submitted = page.get_by_role("heading", name="Submitted")
    expect(submitted).to_be_visible()
    page.get_by_role("link", name="Next HIT of this kind").click()
    expect(page.get_by_text("You have done all HITs of this kind")).to_be_visible()
    page.go_back()
    expect(submitted).to_be_visible()
    expect(page.get_by_role("button", name="Return it")).to_have_count(0)
