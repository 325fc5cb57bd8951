"""The same page for a member of the team: submitting by script, leases, skipping."""

import pytest
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from annotation.crowd.inhouse.models import Assignment, PostedHit
from tests.browser.judging.judging_page import answer, listen_in, start, work_of
from tests.worlds.team import Team, run_out

pytestmark = pytest.mark.django_db(transaction=True)

AGAIN = "No connection: your answers are kept here; trying again"


def test_a_member_judges_a_hit_by_keyboard_and_goes_on(team: Team, page: Page) -> None:
    start(team, page)
    answer(page, "ynynyny")
    page.keyboard.press("Enter")
    page.wait_for_url("**/work")
    assert work_of(team).status == "submitted"
    assert team.advance().new == 1
    [kept] = page.evaluate("Object.values(localStorage)")
    assert "answers" not in kept


def test_a_member_judges_a_hit_by_mouse(team: Team, page: Page) -> None:
    start(team, page)
    for item in page.locator("fieldset[data-item]").all():
        page.wait_for_timeout(450)
        item.get_by_role("radio", name="Yes").click()
    posts: list[str] = []
    page.on("request", lambda one: posts.append(one.url) if one.method == "POST" else None)
    page.get_by_role("button", name="Submit").dblclick()
    page.wait_for_url("**/work")
    assert len(posts) == 1
    assert work_of(team).status == "submitted"


def test_answers_survive_a_reload_and_a_cut_network(team: Team, page: Page) -> None:
    start(team, page)
    answer(page, "yny")
    page.reload()
    page.locator("fieldset[aria-current]").wait_for()
    expect(page.locator(".count")).to_have_text("3 of 7")
    for key in "nyny":
        page.keyboard.press(key)
    page.context.set_offline(True)
    page.keyboard.press("Enter")
    expect(page.locator(".note")).to_contain_text(AGAIN)
    assert work_of(team).status == "accepted"
    page.context.set_offline(False)
    page.wait_for_url("**/work")
    assert work_of(team).status == "submitted"


def test_a_failing_site_is_asked_again_and_an_answer_that_got_lost_does_no_harm(
    team: Team, page: Page
) -> None:
    listen_in(page)
    start(team, page)
    answer(page, "nnnnnnn")
    report: list[bool] = []
    tries: list[str] = []

    def fail(route: Route) -> None:
        if route.request.method != "POST":
            return route.continue_()
        if not report:
            return route.fulfill(status=503, body="away")
        tries.append("post")
        if len(tries) == 1:
            route.fetch()  # it arrives, but the answer to it does not
            return route.abort()
        return route.continue_()

    page.route(f"**/work/{work_of(team).assignment_id}", fail)
    page.keyboard.press("Enter")
    expect(page.locator(".note")).to_contain_text("The site is away")
    report.append(True)
    page.wait_for_url("**/work")
    assert len(tries) == 2
    assert work_of(team).status == "submitted"


def test_when_one_tab_submits_the_other_says_so(team: Team, page: Page) -> None:
    start(team, page)
    twin = page.context.new_page()
    twin.goto(page.url)
    answer(page, "nnnnnnn")
    expect(twin.locator(".count")).to_have_text("7 of 7")
    page.keyboard.press("Enter")
    page.wait_for_url("**/work")
    expect(twin.locator(".note")).to_contain_text("This task was submitted from another tab.")
    expect(twin.get_by_role("button", name="Submit")).to_be_disabled()
    twin.get_by_role("link", name="Go on with other work").click()
    twin.wait_for_url("**/work")


def test_a_refusal_is_one_sentence_with_the_answers_still_to_be_seen(
    team: Team, page: Page
) -> None:
    start(team, page)
    answer(page, "nnnnnnn")
    Assignment.objects.update(status="returned")
    page.keyboard.press("Enter")
    expect(page.locator(".note")).to_contain_text("You have returned this task")
    assert page.locator("input[type=radio]:checked").count() == 7
    expect(page.get_by_role("button", name="Submit")).to_be_disabled()


def test_a_lease_is_renewed_while_somebody_is_at_it(team: Team, page: Page) -> None:
    page.clock.install()
    start(team, page)
    before = work_of(team).deadline
    page.clock.fast_forward("03:00")
    page.keyboard.press("y")
    with page.expect_response("**/renew") as renewed:
        page.clock.fast_forward("01:30")
    assert renewed.value.status == 200
    assert work_of(team).deadline > before


def test_nobody_at_it_lets_the_lease_run_and_little_time_is_told(team: Team, page: Page) -> None:
    page.clock.install()
    start(team, page)
    expect(page.locator(".note")).to_be_empty()
    page.clock.fast_forward("26:10")
    page.clock.run_for(2_000)
    expect(page.locator(".note")).to_contain_text("4 min left for this task.")
    page.clock.fast_forward("04:00")
    page.clock.run_for(2_000)
    expect(page.locator(".note")).to_contain_text("The time for this task has run out.")


def lose_place(work: Assignment) -> None:
    """It ran out, and the HIT has ended."""
    run_out(work)
    PostedHit.objects.update(expires_at=timezone.now())


@pytest.mark.parametrize(("done", "is_locked"), [("ny", True), ("nnnnnnn", False)])
def test_a_lost_lease_is_told_before_more_work_is_done(
    team: Team, page: Page, done: str, is_locked: bool
) -> None:
    page.clock.install()
    start(team, page)
    answer(page, done)
    lose_place(work_of(team))
    page.clock.fast_forward("05:00")
    page.mouse.move(5, 5)
    page.mouse.move(50, 50)
    page.clock.run_for(2_000)
    expect(page.locator(".note")).to_contain_text("The time for this task has run out")
    assert page.locator("input[type=radio]:checked").count() == len(done)
    expect(page.get_by_role("button", name="Submit")).to_be_enabled(enabled=not is_locked)


def test_all_answers_of_a_lapsed_hit_are_taken_while_its_place_is_free(
    team: Team, page: Page
) -> None:
    start(team, page)
    answer(page, "nnnnnnn")
    run_out(work_of(team))
    page.keyboard.press("Enter")
    page.wait_for_url("**/work")
    assert work_of(team).status == "submitted"


def test_a_hit_is_skipped_at_once_while_nothing_is_answered(team: Team, page: Page) -> None:
    start(team, page)
    page.get_by_role("button", name="Skip this task").click()
    page.wait_for_url("**/work")
    assert team.works("ada")[0].status == "returned"


def test_a_hit_that_is_begun_is_skipped_after_a_question(team: Team, page: Page) -> None:
    start(team, page)
    answer(page, "n")
    page.get_by_role("button", name="Skip this task").click()
    page.get_by_role("button", name="Keep it").click()
    assert work_of(team).status == "accepted"
    page.get_by_role("button", name="Skip this task").click()
    page.get_by_role("button", name="Skip it").click()
    page.wait_for_url("**/work")
    assert team.works("ada")[0].status == "returned"
