"""What comes between a member and the HIT in hand: the network, the time, another tab."""

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.judging.judging_page import (
    FORBIDDEN,
    answer,
    fill_in_sign_in,
    listen_in,
    ready,
    start,
    work_of,
)
from tests.worlds.team import Team, run_out

pytestmark = pytest.mark.django_db(transaction=True)

NO_TIMEOUTS = "delete AbortSignal.timeout"
PORTAL = "<title>Welcome to the hotel</title>"


def portal(route: Route) -> None:
    """Somebody between this page and the site takes every form, and says so."""
    if route.request.method == "POST":
        route.fulfill(status=200, content_type="text/html", body=PORTAL)
    else:
        route.continue_()


def checked(page: Page) -> int:
    return page.locator("input[type=radio]:checked").count()


@pytest.mark.parametrize("body", [PORTAL, "{}", '{"next": "/wo'])
def test_an_answer_that_is_not_the_sites_own_is_no_success(
    team: Team, page: Page, body: str
) -> None:
    listen_in(page)
    start(team, page)
    answer(page, "nnnnnnn")
    address = f"**/work/{work_of(team).assignment_id}"
    page.route(address, lambda route: route.fulfill(status=200, body=body))
    page.keyboard.press("Enter")
    expect(page.locator(".note")).to_contain_text("The site is away: your answers are kept")
    assert work_of(team).status == "accepted"
    page.unroute(address)
    page.wait_for_url("**/work")
    assert work_of(team).status == "submitted"


def test_a_page_of_somebody_elses_that_says_not_found_locks_nothing(team: Team, page: Page) -> None:
    listen_in(page)
    start(team, page)
    answer(page, "nnnnnnn")
    address = f"**/work/{work_of(team).assignment_id}"
    page.route(address, lambda route: route.fulfill(status=404, body=PORTAL))
    page.keyboard.press("Enter")
    expect(page.locator(".note")).to_contain_text("The site did not understand")
    page.unroute(address)
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/work")
    assert work_of(team).status == "submitted"


def test_a_renewal_that_somebody_else_answers_tells_no_time(team: Team, page: Page) -> None:
    page.clock.install()
    listen_in(page)
    start(team, page)
    page.route("**/renew", portal)
    with page.expect_response("**/renew"):
        page.clock.fast_forward("05:00")
        page.keyboard.press("n")
        page.clock.run_for(2_000)
    page.clock.fast_forward("21:00")
    page.clock.run_for(2_000)
    expect(page.locator(".note")).to_contain_text("4 min left for this task.")


def test_who_was_signed_out_reads_it_and_submits_after_signing_in(team: Team, page: Page) -> None:
    start(team, page)
    answer(page, "nnnnnnn")
    page.context.clear_cookies(name="sessionid")
    page.keyboard.press("Enter")
    expect(page.locator(".note")).to_contain_text("You are signed out")
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Sign in").click()
    fill_in_sign_in(opened.value, "ada")
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/work")
    assert work_of(team).status == "submitted"


def test_what_the_browser_itself_sends_goes_through_after_a_new_sign_in(
    team: Team, page: Page
) -> None:
    start(team, page)
    other = page.context.new_page()
    other.goto(f"{team.url}/sign-in")
    fill_in_sign_in(other, "ada")
    page.get_by_role("button", name="Skip this task").click()
    page.wait_for_url("**/work")
    assert team.works("ada")[0].status == "returned"


def test_begun_answers_come_back_after_a_long_lunch(team: Team, page: Page) -> None:
    start(team, page)
    answer(page, "ynynyn")
    run_out(work_of(team))
    page.reload()
    ready(page)
    expect(page.locator(".count")).to_have_text("6 of 7")
    assert work_of(team).status == "accepted"
    page.keyboard.press("y")
    page.keyboard.press("Enter")
    page.wait_for_url("**/work")
    assert work_of(team).status == "submitted"


def test_a_page_left_open_over_a_long_lunch_goes_on(team: Team, page: Page) -> None:
    page.clock.install()
    start(team, page)
    answer(page, "ny")
    run_out(work_of(team))
    with page.expect_response("**/renew") as renewed:
        page.clock.fast_forward("05:00")
        page.mouse.move(5, 5)
        page.mouse.move(50, 50)
        page.clock.run_for(2_000)
    assert renewed.value.status == 200
    for key in "nnnnn":
        page.keyboard.press(key)
    expect(page.locator(".count")).to_have_text("7 of 7")
    expect(page.locator(".note")).to_be_empty()


def test_who_takes_a_hit_once_more_finds_the_answers_and_nobody_else_does(
    team: Team, page: Page
) -> None:
    start(team, page)
    answer(page, "yny")
    run_out(work_of(team))
    start(team, page)
    expect(page.locator(".count")).to_have_text("3 of 7")
    assert [work.status for work in team.works("ada")] == ["lapsed", "accepted"]
    start(team, page, "bob")
    expect(page.locator(".count")).to_have_text("0 of 7")


def test_little_time_is_not_told_over_the_sentence_of_the_retry(team: Team, page: Page) -> None:
    page.clock.install()
    start(team, page)
    page.clock.fast_forward("26:10")
    page.clock.run_for(2_000)
    expect(page.locator(".note")).to_contain_text("4 min left")
    page.context.set_offline(True)
    answer(page, "nnnnnnn")
    page.keyboard.press("Enter")
    note = page.locator(".note")
    expect(note).to_contain_text("No connection")
    for _ in range(4):
        page.clock.run_for(1_000)
        assert "your answers are kept here" in note.inner_text()


def test_little_time_is_not_told_over_a_refusal(team: Team, page: Page) -> None:
    page.clock.install()
    start(team, page)
    page.clock.fast_forward("26:10")
    page.clock.run_for(2_000)
    expect(page.locator(".note")).to_contain_text("4 min left")
    page.context.clear_cookies(name="sessionid")
    answer(page, "nnnnnnn")
    page.keyboard.press("Enter")
    note = page.locator(".note")
    expect(note).to_contain_text("You are signed out")
    for _ in range(4):
        page.clock.run_for(1_000)
        assert "You are signed out" in note.inner_text()


def test_answers_that_the_server_brings_back_stay_where_nothing_is_kept(
    team: Team, page: Page
) -> None:
    page.add_init_script(FORBIDDEN)
    start(team, page)
    for key in ("y", "n"):
        page.keyboard.press(key)
    with page.expect_navigation():  # as a browser without scripts would
        page.evaluate("document.querySelector('form.judging').submit()")
    ready(page)
    expect(page.get_by_role("alert")).to_have_count(1)
    expect(page.locator(".count")).to_have_text("2 of 7")
    assert checked(page) == 2


def test_who_works_by_a_screen_reader_alone_is_at_it(team: Team, page: Page) -> None:
    page.clock.install()
    start(team, page)
    before = work_of(team).deadline
    page.clock.fast_forward("05:00")
    with page.expect_response("**/renew"):
        page.get_by_role("radio", name="Yes").first.evaluate("radio => radio.click()")
        page.clock.run_for(2_000)
    assert work_of(team).deadline > before


def test_a_browser_older_than_timeouts_submits(team: Team, page: Page) -> None:
    page.add_init_script(NO_TIMEOUTS)
    start(team, page)
    answer(page, "nnnnnnn")
    page.keyboard.press("Enter")
    page.wait_for_url("**/work")
    assert work_of(team).status == "submitted"
