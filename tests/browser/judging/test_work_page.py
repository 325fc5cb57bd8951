"""A member's own page in a real browser: new work comes to it, and it tells of rejected work."""

import pytest
from playwright.sync_api import Page, expect

from annotation.crowd.inhouse.models import PostedHit
from annotation.models import HitItem
from tests.browser.eye import PHONE, Eye
from tests.browser.judging.judging_page import start
from tests.worlds.team import Team

pytestmark = pytest.mark.django_db(transaction=True)

HIDDEN = "Object.defineProperty(document, 'hidden', { get: () => true })"


def wait_for_work(team: Team, page: Page) -> None:
    """Nothing is open as the page is opened."""
    PostedHit.objects.update(is_open=False)
    team.sign_in(page, "ada")
    page.clock.install()
    page.goto(f"{team.url}/work")
    expect(page.get_by_text("New work appears here by itself.")).to_be_visible()


def test_new_work_comes_without_a_reload(team: Team, page: Page) -> None:
    wait_for_work(team, page)
    page.evaluate("window.sameDocument = true")
    PostedHit.objects.update(is_open=True)
    page.clock.fast_forward(30_000)
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("There is new work.")
    assert page.evaluate("window.sameDocument")


def test_it_asks_for_nothing_while_nobody_sees_it(team: Team, page: Page) -> None:
    wait_for_work(team, page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.evaluate(HIDDEN)
    page.clock.fast_forward(120_000)
    page.wait_for_timeout(200)
    assert asked == []


def test_a_missed_control_is_told_well_in_light_and_dark_and_on_a_phone(
    team: Team, page: Page
) -> None:
    start(team, page)
    items = HitItem.objects.order_by("position").select_related("control")
    wrong = [str(1 - one.control.expected) if one.control else "1" for one in items]
    for key in wrong:
        page.keyboard.press(key)
    expect(page.locator(".count")).to_have_text("7 of 7")
    page.keyboard.press("Enter")
    page.wait_for_url("**/work")
    team.advance()
    team.advance()
    eye = Eye(page, team.url, other=PHONE, thorough=True)
    page.reload()
    page.get_by_text("Show the rejected task").click()
    expect(page.get_by_text("The correct answer is")).to_have_count(2)
    eye.look("work-rejected")
    eye.assert_well()
