"""Steps at the judging page of a member."""

from playwright.sync_api import Page, expect

from annotation.crowd.inhouse.models import Assignment
from tests.worlds.team import PASSWORD, Team

FORBIDDEN = """Object.defineProperty(window, "localStorage", {
  get() { throw new DOMException("no", "SecurityError"); },
});"""


def start(team: Team, page: Page, name: str = "ada") -> None:
    team.sign_in(page, name)
    page.goto(f"{team.url}/work")
    page.get_by_role("button", name="Start").click()
    ready(page)


def listen_in(page: Page) -> None:
    """Before the page is opened: what it sends right after a first page.route() may slip by."""
    page.route("**/nowhere", lambda route: route.abort())


def ready(page: Page) -> None:
    """There is a current item as soon as the scripts are there."""
    page.locator("fieldset[aria-current]").wait_for()


def answer(page: Page, keys: str) -> None:
    page.locator("fieldset[data-item]").first.focus()
    for key in keys:
        page.keyboard.press(key)
    expect(page.locator(".count")).to_have_text(f"{len(keys)} of 7")


def fill_in_sign_in(page: Page, name: str) -> None:
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/work")


def work_of(team: Team, name: str = "ada") -> Assignment:
    [work] = team.works(name)
    return work
