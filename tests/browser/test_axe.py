"""The eye for faults of access sees one that is planted; pages that people seldom meet."""

import pytest
from django.template.loader import render_to_string
from django.utils import timezone
from playwright.sync_api import Page

from annotation.crowd.inhouse import assignments
from annotation.models import Exclusion, Worker
from tests.browser.conftest import CheckAccess
from tests.browser.eye import Eye
from tests.worlds.team import Team

PAGE = "<html lang=en><title>A page</title><main><h1>A page</h1>{}</main>"


def test_a_picture_without_words_is_seen(page: Page, axe: CheckAccess) -> None:
    page.set_content(PAGE.format("<img src='data:,'>"))
    with pytest.raises(AssertionError, match="image-alt"):
        axe(page)
    page.set_content(PAGE.format("<img src='data:,' alt='A picture'>"))
    axe(page)


def test_who_tries_too_many_passwords_can_read_so(eye: Eye, team: Team) -> None:
    page, statuses = eye.page, []
    page.goto(f"{team.url}/sign-in")
    while 429 not in statuses:
        page.get_by_label("Username").fill("ada")
        page.get_by_label("Password").fill("a guess")
        with page.expect_navigation() as shown:
            page.get_by_role("button", name="Sign in").click()
        statuses.append(shown.value.status)
        assert len(statuses) < 100
    page.get_by_text("wrong passwords").wait_for()
    eye.look("429")
    eye.assert_well()


@pytest.mark.parametrize("status", [400, 500])
def test_who_meets_a_fault_can_read_so(eye: Eye, status: int) -> None:
    """Django renders these two without the request, as here."""
    words = render_to_string(f"{status}.html")
    eye.page.route(
        "**/fault", lambda route: route.fulfill(status=status, content_type="text/html", body=words)
    )
    eye.open("/fault", expect=status, until="h1")
    eye.assert_well()


def test_who_was_excluded_meanwhile_can_read_why(eye: Eye, team: Team) -> None:
    ada = team.members["ada"]
    work = assignments.take(ada, now=timezone.now())
    assert work
    worker = Worker.objects.create(crowd="inhouse", worker_id=ada.worker_id)
    Exclusion.objects.create(campaign=team.campaign, worker=worker, failures=3, reviewed=12)
    team.sign_in(eye.page, "ada")
    eye.open(f"/work/{work.assignment_id}", expect=(200, 403, 409, 410))
    eye.page.get_by_role("button", name="Return it").wait_for()
    eye.assert_well()
