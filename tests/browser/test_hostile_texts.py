"""Hostile texts in a real browser: nothing runs, nothing is fetched, nothing breaks."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from operator import ne
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Locator, Page, Request, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from annotation.crowd.hit_url import hit_url
from annotation.crowd.qualification_url import qualification_test_url
from annotation.models import Campaign, ExpertLabel
from annotation.pipeline.adjudicate import piles_of
from annotation.pipeline.gold.gold_file import MAX_NOTE
from tests.browser.eye import PATIENCE_MS
from tests.worlds.account import Account
from tests.worlds.hostile import HOST, MARK
from tests.worlds.hostile_campaign import HITS, QUALIFICATION, TEXTS, hostile_campaign
from tests.worlds.hostile_work import hostile_team, judge, label_all
from tests.worlds.small_campaign import Stage
from tests.worlds.team import OWNER, Team

DECISIONS = 5  # of an expert at each pile


@dataclass
class Watch:
    """What must not happen while pages are open."""

    faults: list[str] = field(default_factory=list)

    def on(self, page: Page) -> None:
        page.on("dialog", self._dialog)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("request", self._request)
        page.context.on("page", lambda opened: self.faults.append(f"opened: {opened.url}"))

    def _dialog(self, dialog: Dialog) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and "favicon" not in message.location["url"]:
            self.faults.append(f"console: {message.text}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith(("http://localhost:", "http://127.0.0.1:")):
            self.faults.append(f"request: {request.url}")

    def look(self, page: Page) -> None:
        """All frames of the page as it stands."""
        for frame in page.frames:
            assert frame.evaluate(f"window.__{MARK}") is None, frame.url
            assert frame.evaluate(f"document.querySelector('.{MARK}, {MARK}')") is None, frame.url
            assert HOST not in frame.evaluate("document.baseURI")
        assert self.faults == [], page.url


@pytest.fixture
def watched(browser: Browser, transactional_db: None) -> Iterator[tuple[Page, Watch]]:
    watch = Watch()
    with browser.new_context() as context:
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        watch.on(page)
        yield page, watch


@pytest.fixture
def campaign_folder(tmp_path: Path, settings: Settings, live_server: LiveServer) -> Path:
    settings.INDEX_DIR = tmp_path / "index"
    settings.PUBLIC_URL = live_server.url
    return tmp_path


def test_no_text_of_a_hit_runs_in_the_crowds_frame(
    watched: tuple[Page, Watch], campaign_folder: Path, mturk: Account
) -> None:
    page, watch = watched
    stage = Stage(hostile_campaign(campaign_folder), mturk)
    stage.publish()
    mturk.person("ada")
    for hit in stage.campaign.hits.all():
        page.goto(hit_url(hit.key))
        page.locator("[data-item]").first.wait_for()
        watch.look(page)
    page.goto(f"{mturk.url}/worker/AADA/hits")
    watch.look(page)
    page.get_by_role("button", name="Accept").first.click()
    page.wait_for_load_state()  # of the frame, too
    items = page.frame_locator("iframe").locator("fieldset[data-item]")
    items.first.wait_for()
    for item in items.all():
        say_no(item)
    watch.look(page)


def say_no(item: Locator) -> None:
    """By no pointer, of which the page would take a quick second click for half of a double."""
    item.get_by_role("radio", name="No").evaluate("radio => radio.click()")


def test_no_text_runs_on_the_pages_of_a_team_and_its_owner(
    watched: tuple[Page, Watch], campaign_folder: Path, live_server: LiveServer, settings: Settings
) -> None:
    page, watch = watched
    settings.CONTACT = TEXTS[0]
    team = hostile_team(campaign_folder, live_server.url)
    team.sign_in(page, "ada")
    judge_with_reports(page, watch, team)
    judge(team, hits=HITS - 4)
    label_all(team)
    team.sign_in(page, "owner")
    for path in owner_pages(team.campaign):
        page.goto(f"{team.url}{path}")
        page.locator("h1").first.wait_for()
        watch.look(page)
    piles = piles_of(team.campaign, User.objects.get(username=OWNER))
    for what in piles:
        adjudicate(page, watch, f"{team.url}/campaigns/{team.campaign}/adjudicate?what={what}")
    assert ExpertLabel.objects.filter(expert=OWNER).count() == len(piles) * DECISIONS


def adjudicate(page: Page, watch: Watch, address: str) -> None:
    """Before and after each decision; the page after it has both experts' notes and the reports."""
    texts = iter(TEXTS)
    for _ in range(DECISIONS):
        page.goto(address)
        watch.look(page)
        page.get_by_label("Note").fill("\n".join(islice(texts, len(TEXTS) // DECISIONS))[:MAX_NOTE])
        page.get_by_role("button", name="Yes").click()
        page.get_by_role("heading", name="You said Yes").wait_for()
        expect(page.locator("ul.reports q")).not_to_have_count(0)
        watch.look(page)


def test_no_text_of_a_qualification_test_runs(
    watched: tuple[Page, Watch], campaign_folder: Path, live_server: LiveServer
) -> None:
    page, watch = watched
    team = hostile_team(campaign_folder, live_server.url, **QUALIFICATION)
    team.sign_in(page, "eve")
    page.goto(qualification_test_url(team.campaign))
    watch.look(page)
    # Half of it is wrong.
    page.evaluate(
        "document.querySelectorAll('[type=radio][value=\"1\"]').forEach(one => one.click())"
    )
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("heading", name="Not passed yet").wait_for()
    expect(page.locator("p.why")).to_have_count(len(TEXTS))
    watch.look(page)


def judge_with_reports(page: Page, watch: Watch, team: Team) -> None:
    """Three HITs by the page, with an attack in the words of each item's report."""
    texts = iter(TEXTS)
    page.goto(f"{team.url}/work")
    watch.look(page)
    page.get_by_role("button", name="Start").first.click()
    for number in range(3):
        items = page.locator("fieldset[data-item]")
        items.first.wait_for()
        page.wait_for_load_state()  # only then does the page's script keep what is answered
        here = page.url
        for item in items.all():
            say_no(item)
            item.locator("details.report summary").click()
            item.locator("select").select_option("other")
            item.locator("textarea").fill(next(texts)[:400])
        page.reload()  # what is kept in the browser comes back as text
        items.first.wait_for()
        watch.look(page)
        page.get_by_role("button", name="Submit").click()
        page.wait_for_url(partial(ne, here))
        assert len(team.works("ada")) > number


def owner_pages(campaign: Campaign) -> list[str]:
    name = campaign.name
    tables = (
        "annotation/control",
        "annotation/itemreport",
        "annotation/qualificationitem",
        "annotation/expertlabel",
        "retrieval/qapair",
        "retrieval/query",
    )
    return [
        "/",
        "/team",
        f"/campaigns/{name}/instructions",
        *(f"/admin/campaigns/{name}/{page}" for page in ("workers/", "workers/reports")),
        *(f"/admin/{table}/" for table in tables),
    ]
