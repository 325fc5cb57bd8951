"""The eye for faults of access sees one that is planted; pages that people seldom meet."""

import pytest
from django.template.loader import render_to_string
from django.utils import timezone
from playwright.sync_api import Page

from annotation.crowd.inhouse import assignments
from annotation.models import Exclusion, Worker
from tests.browser.conftest import CheckAccess, TakeShot
from tests.worlds.team import Team

PAGE = "<html lang=en><title>A page</title><main><h1>A page</h1>{}</main>"


def test_a_picture_without_words_is_seen(page: Page, axe: CheckAccess) -> None:
    page.set_content(PAGE.format("<img src='data:,'>"))
    with pytest.raises(AssertionError, match="image-alt"):
        axe(page)
    page.set_content(PAGE.format("<img src='data:,' alt='A picture'>"))
    axe(page)


@pytest.fixture(params=["light", "dark"])
def looked_at(page: Page, request: pytest.FixtureRequest) -> Page:
    page.emulate_media(color_scheme=request.param)
    return page


def test_who_tries_too_many_passwords_can_read_so(
    looked_at: Page, team: Team, axe: CheckAccess, shot: TakeShot
) -> None:
    statuses: list[int] = []
    looked_at.goto(f"{team.url}/sign-in")
    while 429 not in statuses:
        looked_at.get_by_label("Username").fill("ada")
        looked_at.get_by_label("Password").fill("a guess")
        with looked_at.expect_response(lambda answer: answer.request.method == "POST") as answer:
            looked_at.get_by_role("button", name="Sign in").click()
        statuses.append(answer.value.status)
        assert len(statuses) < 100
    looked_at.get_by_text("wrong passwords").wait_for()
    axe(looked_at)
    shot(looked_at, "axe-429")


@pytest.mark.parametrize("status", [400, 500])
def test_who_meets_a_fault_can_read_so(
    looked_at: Page, team: Team, status: int, axe: CheckAccess, shot: TakeShot
) -> None:
    """Django renders these two without the request, as here."""
    words = render_to_string(f"{status}.html")
    address = f"{team.url}/fault"
    looked_at.route(
        address, lambda route: route.fulfill(status=status, content_type="text/html", body=words)
    )
    looked_at.goto(address)
    looked_at.get_by_role("heading").wait_for()
    axe(looked_at)
    shot(looked_at, f"axe-{status}")


def test_who_was_excluded_meanwhile_can_read_why(
    looked_at: Page, team: Team, axe: CheckAccess, shot: TakeShot
) -> None:
    ada = team.members["ada"]
    work = assignments.take(ada, now=timezone.now())
    assert work
    worker = Worker.objects.create(crowd="inhouse", worker_id=ada.worker_id)
    Exclusion.objects.create(campaign=team.campaign, worker=worker, failures=3, reviewed=12)
    team.sign_in(looked_at, "ada")
    looked_at.goto(f"{team.url}/work/{work.assignment_id}")
    looked_at.get_by_role("button", name="Return it").wait_for()
    axe(looked_at)
    shot(looked_at, "axe-not-open")
