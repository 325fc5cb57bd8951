"""Debian's chromium at the live server: in the crowd's frame, and as a member of the team."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Frame, Page, expect, sync_playwright
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from demo.processes import ROOT
from tests.browser.eye import PATIENCE_MS, WCAG, Eye
from tests.conftest import StartMTurk
from tests.worlds.account import Account
from tests.worlds.small_campaign import Stage, packed_campaign
from tests.worlds.team import Team, make_team

QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
SHOTS = ROOT / "var" / "shots"

CheckAccess = Callable[[Page | Frame], None]


# Not of the session: with Playwright's event loop in the thread, no other test could start one.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        reason = "Debian's chromium is not installed: apt-get install chromium"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Django would take that loop for async code.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        expect.set_options(timeout=PATIENCE_MS)
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, transactional_db: None) -> Iterator[Page]:
    """In a context of its own: no cookie and nothing kept from another test.

    Without smooth scrolling: an answer in the crowd's frame scrolls the page around it too, and
    Playwright, which waits for a button to stand still within its frame, would click beside it.
    """
    with browser.new_context(reduced_motion="reduce") as context:
        context.set_default_timeout(PATIENCE_MS)
        yield context.new_page()


@pytest.fixture
def framed(
    browser: Browser,
    live_server: LiveServer,
    settings: Settings,
    small_database: None,
    mturk: Account,
    tmp_path: Path,
) -> Stage:
    """One published HIT whose page the live server serves; ada is registered at the emulator."""
    # The emulator's site: in private windows a frame of another one can keep nothing.
    settings.PUBLIC_URL = live_server.url.replace("localhost", "127.0.0.1")
    stage = Stage(packed_campaign(tmp_path, candidates_per_query=1), mturk)
    stage.publish()
    mturk.person("ada")
    return stage


@pytest.fixture
def team(
    browser: Browser,
    live_server: LiveServer,
    settings: Settings,
    small_database: None,
    tmp_path: Path,
) -> Team:
    """One published HIT of the in-house crowd; ada, bob and eve are members."""
    settings.PUBLIC_URL = live_server.url
    return make_team(tmp_path, live_server.url)


@pytest.fixture
def axe() -> CheckAccess:
    """WCAG 2.2 AA and axe's best practices, on a page or on one frame of it."""

    def check(shown: Page | Frame) -> None:
        options = {"runOnly": WCAG, "resultTypes": ["violations"]}
        found = Axe().run(shown, options=options)
        assert found.violations_count == 0, f"{shown.url}: {found.generate_report()}"

    return check


@pytest.fixture
def eye(page: Page, live_server: LiveServer, settings: Settings, tmp_path: Path) -> Eye:
    settings.PUBLIC_URL = live_server.url
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()
    return Eye(page, live_server.url)


def sign_in(page: Page, url: str, user: User | str = "ada") -> None:
    """Somebody who may do everything, where a name is given."""
    if isinstance(user, str):
        rights = {"is_staff": True, "is_superuser": True}
        user, _ = User.objects.get_or_create(username=user, defaults=rights)
    client = Client()
    client.force_login(user)
    value = client.cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": value, "url": url}])


@pytest.fixture
def start_mturk(start_emulator: StartMTurk) -> StartMTurk:
    """A browser goes to its pages."""
    return start_emulator
