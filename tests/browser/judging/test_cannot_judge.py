"""Can't judge, and later: beside Yes and No on a team's judging page."""

import pytest
from playwright.sync_api import Page, expect

from annotation.models import ItemReport
from tests.browser.eye import PATIENCE_MS, Eye
from tests.browser.judging.judging_page import answer, start, work_of
from tests.worlds.team import Team

pytestmark = pytest.mark.django_db(transaction=True)
KNOWLEDGE = "It needs knowledge that I do not have"


def current(page: Page) -> str:
    return page.locator("fieldset[aria-current] legend").inner_text()


def triplet_item(team: Team, page: Page) -> int:
    """Its place: a control that somebody can't judge fails the work."""
    [hit] = team.campaign.hits.all()
    item = hit.items.filter(triplet__isnull=False).earliest("position")
    return int(item.position)


def submit(page: Page) -> None:
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/work", timeout=PATIENCE_MS)


def test_who_cannot_judge_says_why_by_keys_alone(team: Team, page: Page) -> None:
    start(team, page)
    place = triplet_item(team, page)
    page.locator("fieldset[data-item]").nth(place).focus()
    page.keyboard.press("c")
    reason = page.locator("fieldset[data-item]").nth(place).get_by_role("combobox")
    expect(reason).to_be_focused()
    expect(page.locator(".count")).to_have_text("0 of 7")  # without a reason it is no answer
    reason.select_option(label=KNOWLEDGE)
    page.keyboard.press("Enter")
    expect(page.locator(".count")).to_have_text("1 of 7")
    assert current(page).startswith(f"Item {place + 2 if place < 6 else 1} ")
    [hit] = team.campaign.hits.all()
    for item in hit.items.exclude(position=place).order_by("position"):
        box = page.locator("fieldset[data-item]").nth(item.position)
        box.focus()
        page.keyboard.press("y" if item.control and item.control.expected else "n")
    submit(page)
    team.advance()
    [report] = ItemReport.objects.all()
    assert (report.cannot_judge, report.reason) == (True, "knowledge")
    assert report.assignment.passed


def test_a_reason_that_is_chosen_by_the_mouse_leads_to_the_next_item(
    team: Team, page: Page
) -> None:
    start(team, page)
    first = page.locator("fieldset[data-item]").first
    first.locator("input[value=cannot_judge]").click()
    reason = first.get_by_role("combobox")
    reason.dispatch_event("pointerdown")
    reason.select_option(label=KNOWLEDGE)
    assert current(page).startswith("Item 2 ")
    page.keyboard.press("n")
    expect(page.locator(".count")).to_have_text("2 of 7")
    expect(first.locator("input[value=cannot_judge]")).to_be_checked()


def test_a_missing_reason_is_asked_for_before_anything_is_sent(team: Team, page: Page) -> None:
    start(team, page)
    answer(page, "nnnnnnn")
    box = page.locator("fieldset[data-item]").nth(2)
    box.focus()
    page.keyboard.press("c")
    box.locator("legend").click()
    page.get_by_role("button", name="Submit").click()
    expect(box.locator(".missing")).to_have_text("Please say why.")
    expect(box.get_by_role("combobox")).to_be_focused()
    assert work_of(team).status == "accepted"


def test_later_goes_on_and_comes_back(team: Team, page: Page) -> None:
    start(team, page)
    page.locator("fieldset[data-item]").first.focus()
    page.keyboard.press("l")
    assert current(page).startswith("Item 2 ")
    for _ in range(6):
        page.keyboard.press("n")
    expect(page.locator(".count")).to_have_text("6 of 7")
    assert current(page).startswith("Item 1 ")


def test_the_page_with_all_its_choices_looks_right(team: Team, page: Page) -> None:
    eye = Eye(page, team.url, thorough=True)
    start(team, page)
    page.locator("fieldset[data-item]").first.focus()
    page.keyboard.press("c")
    eye.look("cannot-judge")
    eye.assert_well()
