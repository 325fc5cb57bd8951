"""A file is chosen in a form of ours: no field beside it changes, as the theme would have it."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Campaign
from tests.annotation.support.hits import make_campaign
from tests.browser.conftest import sign_in

VALUES = "fields => Object.fromEntries(fields.map((field) => [field.name, field.value]))"


@pytest.fixture
def campaign(transactional_db: None) -> Campaign:
    return make_campaign("faq")


@pytest.mark.parametrize(
    ("address", "field"),
    [
        ("campaigns/faq/review/import", "expert"),
        ("database/import", "source"),
        ("campaigns/new", "name"),
        ("controls/import", None),
    ],
)
def test_a_chosen_file_s_name_gets_into_no_other_field(
    page: Page,
    live_server: LiveServer,
    campaign: Campaign,
    tmp_path: Path,
    address: str,
    field: str | None,
) -> None:
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    sign_in(page, live_server.url)
    page.goto(f"{live_server.url}/admin/{address}")
    fields = page.locator(".dash-form input[type=text]")
    before = fields.evaluate_all(VALUES)
    assert field in before if field else not before
    path = tmp_path / "own.csv"
    path.write_text("query,question,answer\n")
    page.locator(".dash-form input[type=file]").set_input_files(path)
    assert fields.evaluate_all(VALUES) == before
    assert errors == []


def test_a_chosen_file_is_listed_for_an_import(
    page: Page, live_server: LiveServer, transactional_db: None, tmp_path: Path
) -> None:
    sign_in(page, live_server.url)
    page.goto(f"{live_server.url}/admin/database/import")
    path = tmp_path / "own.csv"
    path.write_text("question,answer\n")
    page.get_by_label("Files").set_input_files(path)
    expect(page.get_by_text("own.csv, 16 bytes")).to_be_visible()
