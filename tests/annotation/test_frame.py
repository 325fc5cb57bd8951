"""The HIT page in a real browser, inside the crowd's frame."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from tests.mturk import MTurk
from tests.small_campaign import Stage, packed_campaign

CHROMIUM = shutil.which("chromium")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="Debian's chromium is not installed"),
]


@pytest.fixture
def framed(
    live_server: LiveServer,
    settings: Settings,
    small_database: None,
    mturk: MTurk,
    tmp_path: Path,
) -> Stage:
    """One published HIT whose page the live server serves."""
    settings.PUBLIC_URL = live_server.url
    stage = Stage(packed_campaign(tmp_path, candidates_per_query=1), mturk)
    stage.publish()
    return stage


@pytest.fixture
def page(framed: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """Ada's list of HITs."""
    # Playwright keeps an event loop in this thread, which Django would take for async code.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    framed.mturk.person("ada")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        page = browser.new_page()
        page.set_default_timeout(10_000)
        page.goto(f"{framed.mturk.url}/worker/AADA/hits")
        yield page
        browser.close()


def test_a_hit_is_judged_by_mouse_inside_the_frame(framed: Stage, page: Page) -> None:
    page.get_by_role("button", name="Accept").click()
    hit = page.frame_locator("iframe")
    items = hit.locator("fieldset[data-item]")
    assert items.count() == 7
    for item in items.all():
        item.get_by_role("radio", name="No").click()
    hit.get_by_role("button", name="Submit").click()
    hit.get_by_role("heading", name="Submitted").wait_for()
    [(status, answer)] = framed.mturk.rows("SELECT status, answer FROM assignments")
    assert status == "Submitted"
    assert answer.count("<FreeText>0</FreeText>") == 7
    assert framed.advance().new == 1


def test_nothing_is_handed_in_before_all_seven_are_answered(framed: Stage, page: Page) -> None:
    page.get_by_role("button", name="Accept").click()
    hit = page.frame_locator("iframe")
    for item in hit.locator("fieldset[data-item]").all()[:6]:
        item.get_by_role("radio", name="Yes").click()
    hit.get_by_role("button", name="Submit").click()
    page.wait_for_timeout(300)
    assert framed.mturk.rows("SELECT status FROM assignments") == [("Accepted",)]


def test_a_preview_has_nothing_to_press_and_sets_no_cookie(framed: Stage, page: Page) -> None:
    page.get_by_role("link", name="Preview").click()
    hit = page.frame_locator("iframe")
    hit.locator("fieldset[data-item], [data-item]").first.wait_for()
    assert hit.locator("button, input:not([disabled])").count() == 0
    assert page.context.cookies() == []
