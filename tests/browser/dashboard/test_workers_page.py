"""The pages of a campaign's workers in a browser: light, dark, on a phone."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from playwright.sync_api import Page
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from annotation.models import Account, Assignment, Behaviour, Exclusion, ItemReport, Worker
from tests.annotation.support.hits import REAL, make_campaign, make_hit
from tests.browser.conftest import CheckAccess, TakeShot

HITS = 12
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
# Seconds a HIT on average, share of straight lines, share rejected.
CAST = {
    "A1CAREFUL": (95, 0.0, 0.0),
    "A2STEADY": (80, 0.0, 0.1),
    "A3SLOW": (190, 0.0, 0.0),
    "A4QUICK": (60, 0.1, 0.1),
    "A5SPAM": (14, 0.7, 0.7),
    "A6SHY": (70, 0.0, 0.0),
}


def fill() -> None:
    dice = random.Random(1)
    campaign = make_campaign("support-faq")
    Account.objects.create(campaign=campaign)
    hits = [
        make_hit(
            campaign,
            real=[(f"{query} ({number})", question, answer) for query, question, answer in REAL],
        )
        for number in range(HITS)
    ]
    for name, (seconds, straight, rejected) in CAST.items():
        worker = Worker.objects.create(crowd="mturk", worker_id=name)
        for number, hit in enumerate(hits):
            failed = dice.random() < rejected
            work = Assignment.objects.create(
                hit=hit,
                worker=worker,
                crowd_id=f"{name}-{number}",
                status="rejected" if failed else "approved",
                accepted_at=NOON,
                submitted_at=NOON + timedelta(minutes=20),
                answers={},
                passed=not failed,
            )
            Behaviour.objects.create(
                assignment=work,
                active_ms=None
                if name == "A6SHY"
                else int(seconds * 1000 * dice.lognormvariate(0, 0.4)),
                changes=dice.randrange(3),
                straight=dice.random() < straight,
            )
            if number < 2:
                text = "Which spiders are meant, and of what age?" if name == "A3SLOW" else ""
                item = hit.items.get(position=2 - number)
                ItemReport.objects.create(assignment=work, item=item, reason="unclear", text=text)
    eve = Worker.objects.get(worker_id="A5SPAM")
    Exclusion.objects.create(campaign=campaign, worker=eve, failures=3, reviewed=10)


def sign_in(page: Page, live_server: LiveServer, settings: Settings) -> None:
    user = User.objects.create_superuser("ada")
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    cookie = {"name": settings.SESSION_COOKIE_NAME, "value": session.session_key}
    page.context.add_cookies([{**cookie, "url": live_server.url}])


@pytest.fixture
def workers(page: Page, live_server: LiveServer, settings: Settings) -> Page:
    """The page of a campaign with six workers."""
    fill()
    sign_in(page, live_server, settings)
    page.goto(f"{live_server.url}/admin/campaigns/support-faq/workers/")
    return page


def test_the_pages_are_open_to_everybody_in_light_and_dark(
    workers: Page, axe: CheckAccess, shot: TakeShot
) -> None:
    for scheme in ("light", "dark"):
        workers.emulate_media(color_scheme=scheme)
        workers.reload()
        axe(workers)
        shot(workers, f"workers-{scheme}")
    workers.get_by_role("link", name="A5SPAM").click()
    workers.get_by_text("Votes that count again").wait_for()
    axe(workers)
    shot(workers, "worker-dark")
    workers.emulate_media(color_scheme="light")
    workers.reload()
    workers.get_by_text("Votes that count again").wait_for()
    axe(workers)
    shot(workers, "worker-light")


def test_on_a_phone_only_the_tables_move_sideways(
    workers: Page, axe: CheckAccess, shot: TakeShot
) -> None:
    workers.set_viewport_size({"width": 390, "height": 844})
    workers.reload()
    assert workers.evaluate("document.documentElement.scrollWidth") == 390
    table = workers.get_by_role("region", name="Workers, table")
    assert table.evaluate("table => table.scrollWidth") > 390
    axe(workers)
    shot(workers, "workers-phone")
    workers.get_by_role("link", name="A5SPAM").click()
    workers.get_by_text("Votes that count again").wait_for()
    assert workers.evaluate("document.documentElement.scrollWidth") == 390
    axe(workers)
    shot(workers, "worker-phone")


def test_the_table_sorts_by_its_links(workers: Page) -> None:
    names = workers.locator("tbody bdi")
    workers.get_by_role("link", name="Median time").click()
    workers.wait_for_url("**sort=-time")
    assert names.first.text_content() == "A3SLOW"
    workers.get_by_role("link", name="Median time").click()
    workers.wait_for_url("**sort=time")
    assert names.first.text_content() == "A5SPAM"
    assert names.last.text_content() == "A6SHY"


def test_the_bars_are_drawn(workers: Page) -> None:
    """By the script, from the data in the page: there is ink on the canvas."""
    workers.wait_for_function(
        """() => {
            const canvas = document.querySelector("canvas[data-chart=chart-times]");
            const drawn = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            return drawn.data.some((value, place) => place % 4 === 3 && value > 0);
        }"""
    )


def test_reported_items_are_a_click_away(workers: Page, axe: CheckAccess, shot: TakeShot) -> None:
    workers.get_by_role("link", name="Items that workers have reported").click()
    workers.get_by_text("Which spiders are meant").first.wait_for()
    axe(workers)
    shot(workers, "reports")
