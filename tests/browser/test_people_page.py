"""The owner's page of people in a browser: light, dark, on a phone."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from playwright.sync_api import Page
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from annotation.models import Account, Assignment, Exclusion, ItemReport, Observation, Worker
from tests.annotation.hits import REAL, make_campaign, make_hit
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
            Observation.objects.create(
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
def people(page: Page, live_server: LiveServer, settings: Settings) -> Page:
    """The page of a campaign with six workers."""
    fill()
    sign_in(page, live_server, settings)
    page.goto(f"{live_server.url}/campaigns/support-faq/people")
    return page


def test_the_page_is_open_to_everybody_in_light_and_dark(
    people: Page, axe: CheckAccess, shot: TakeShot
) -> None:
    for scheme in ("light", "dark"):
        people.emulate_media(color_scheme=scheme)
        axe(people)
        shot(people, f"people-{scheme}")


def test_on_a_phone_only_the_table_moves_sideways(
    people: Page, axe: CheckAccess, shot: TakeShot
) -> None:
    people.set_viewport_size({"width": 390, "height": 844})
    assert people.evaluate("document.documentElement.scrollWidth") == 390
    assert people.evaluate("document.querySelector('.scroll').scrollWidth") > 390
    axe(people)
    shot(people, "people-phone")


def test_the_table_sorts_without_a_script(people: Page) -> None:
    names = people.locator("tbody bdi")
    people.get_by_role("link", name="Median time").click()
    assert names.first.text_content() == "A3SLOW"
    people.get_by_role("link", name="Median time").click()
    assert names.first.text_content() == "A5SPAM"
    assert names.last.text_content() == "A6SHY"


def test_the_bars_are_drawn_under_the_page_s_own_rules(people: Page) -> None:
    """No style of the page is refused by its policy: the bars have colour and height."""
    bar = people.locator("rect").first
    assert bar.evaluate("bar => getComputedStyle(bar).fill") == "rgb(31, 95, 168)"
    tallest = people.locator("rect").evaluate_all(
        "bars => Math.max(...bars.map(bar => bar.getBoundingClientRect().height))"
    )
    assert tallest > 100


def test_a_campaign_s_card_leads_here(people: Page, axe: CheckAccess, shot: TakeShot) -> None:
    here = people.url
    people.get_by_role("link", name="Campaigns").first.click()
    axe(people)
    shot(people, "home")
    people.get_by_role("link", name="People").click()
    assert people.url == here
