"""Files dropped on the page of an import, and chosen where there is no script."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.jobs.handlers import HANDLERS
from retrieval.corpus.uploads import uploads_root
from retrieval.jobs.queue import run
from retrieval.models import Job, QaPair
from tests.browser.conftest import sign_in
from tests.browser.eye import PATIENCE_MS, Eye

CSV = "question,answer\nWhy is the sky blue?,Light is scattered.\nWhy?\n"
DROP = """([name, content]) => {
  const moved = new DataTransfer();
  moved.items.add(new File([content], name));
  const zone = document.querySelector("[data-drop]");
  for (const kind of ["dragenter", "dragover", "drop"]) {
    const event = { dataTransfer: moved, bubbles: true, cancelable: true };
    zone.dispatchEvent(new DragEvent(kind, event));
  }
}"""


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path, settings: Any) -> None:
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()


@pytest.fixture
def importing(page: Page, live_server: LiveServer) -> Page:
    sign_in(page, live_server.url)
    page.goto(f"{live_server.url}/admin/database/import")
    return page


def work() -> None:
    for job in Job.objects.filter(state=Job.State.QUEUED, kind="ingest"):
        run(job.pk, "worker", HANDLERS)


def test_a_dropped_file_is_sent_imported_and_its_rejected_rows_are_shown(importing: Page) -> None:
    eye = Eye(importing)
    importing.get_by_label("Name of the source").fill("faq")
    importing.evaluate(DROP, ["faq.csv", CSV])
    expect(importing.get_by_text("faq.csv, 62 bytes")).to_be_visible()
    eye.look("a dropped file")
    importing.get_by_role("button", name="Import").click()
    expect(importing.get_by_text("not yet imported")).to_be_visible()
    eye.look("an import")
    work()
    # The page asks every two seconds, and loads again when the work has ended.
    expect(importing.get_by_role("heading", name="Rejected rows")).to_be_visible()
    expect(importing.get_by_text("the row has 1 column, the header 2")).to_be_visible()
    eye.look("an import that has ended")
    eye.assert_well()
    with importing.expect_download() as download:
        importing.get_by_role("link", name="CSV").click()
    assert '3,"the row has 1 column, the header 2",Why?' in download.value.path().read_text()
    assert QaPair.objects.get().question == "Why is the sky blue?"


def test_what_the_site_refuses_is_told_and_the_form_stays_filled_in(importing: Page) -> None:
    importing.get_by_label("Name of the source").fill("faq")
    importing.evaluate(DROP, ["page.csv", "<!doctype html><p>Sign in first"])
    importing.get_by_role("button", name="Import").click()
    expect(importing.get_by_role("alert")).to_contain_text("page.csv is a web page")
    expect(importing.get_by_label("Name of the source")).to_have_value("faq")
    assert not list(uploads_root().iterdir())


def test_an_empty_file_is_not_even_sent(importing: Page) -> None:
    importing.get_by_label("Name of the source").fill("faq")
    importing.evaluate(DROP, ["empty.csv", ""])
    expect(importing.get_by_role("alert")).to_contain_text("empty.csv is empty")
    sent: list[str] = []
    importing.on("request", lambda request: sent.append(request.method))
    importing.get_by_role("button", name="Import").click()
    importing.get_by_role("alert").wait_for()
    assert "POST" not in sent


def test_without_a_script_the_form_sends_a_chosen_file(
    browser: Browser, live_server: LiveServer, transactional_db: None, tmp_path: Path
) -> None:
    path = tmp_path / "faq.csv"
    path.write_text(CSV)
    with browser.new_context(java_script_enabled=False) as context:
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        sign_in(page, live_server.url)
        page.goto(f"{live_server.url}/admin/database/import")
        page.get_by_label("Name of the source").fill("faq")
        page.get_by_label("Files").set_input_files(path)
        page.get_by_role("button", name="Import").click()
        expect(page.get_by_text("not yet imported")).to_be_visible()
        work()
        page.reload()
        expect(page.get_by_role("heading", name="Rejected rows")).to_be_visible()
    assert QaPair.objects.count() == 1
