"""The pages of a campaign's workers in a browser: light, dark, on a phone."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from annotation.models import Account, Assignment, Behaviour, Exclusion, ItemReport, Worker
from tests.annotation.support.hits import REAL, make_campaign, make_hit
from tests.browser.conftest import sign_in
from tests.browser.eye import OWN_WORK, PHONE, Eye

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
                failure="missed" if failed else "",
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


@pytest.fixture
def workers(page: Page, live_server: LiveServer) -> Page:
    """The page of a campaign with six workers."""
    fill()
    sign_in(page, live_server.url)
    page.goto(f"{live_server.url}/admin/campaigns/support-faq/workers/")
    return page


def test_the_pages_are_open_to_everybody_and_only_tables_move_sideways_on_a_phone(
    workers: Page,
) -> None:
    eye = Eye(workers, at=PHONE, other=OWN_WORK, thorough=True)
    workers.reload()
    eye.look("workers")
    table = workers.get_by_role("region", name="Workers, table")
    assert table.evaluate("table => table.scrollWidth") > PHONE["width"]
    workers.get_by_role("link", name="A5SPAM").click()
    workers.get_by_text("Votes that count again").wait_for()
    eye.look("worker")
    workers.go_back()
    workers.get_by_role("link", name="Items that workers have reported").click()
    workers.get_by_text("Which spiders are meant").first.wait_for()
    eye.look("reports")
    eye.assert_well()


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
