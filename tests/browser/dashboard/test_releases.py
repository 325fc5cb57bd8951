"""The pages of releases in a browser: what they offer is downloaded, copied, run and looked at."""

import hashlib
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from annotation.models import Campaign
from exports.delivery.signed_links import link
from exports.formats.loading_code import snippets
from exports.models import Build, Download, Release
from tests.annotation.support.hits import make_campaign
from tests.browser.conftest import CheckAccess, sign_in
from tests.browser.eye import OWN_WORK, PHONE, Eye
from tests.exports.support.builds import build_of
from tests.exports.support.storage import lie_at
from tests.exports.support.stored_release import stored_release
from tests.exports.web.people import reader

ADDRESS = "/campaigns/demo/releases"


@pytest.fixture
def site(page: Page, live_server: LiveServer, settings: Settings, tmp_path: Path) -> LiveServer:
    """Three releases of a campaign, in a storage of the test's own."""
    settings.PUBLIC_URL = live_server.url
    lie_at(str(tmp_path / "releases"), settings)
    stored_release(make_campaign("demo"))
    return live_server


def test_every_page_is_fit_for_every_reader_and_screen(site: LiveServer, page: Page) -> None:
    eye = Eye(page, site.url, at=PHONE, other=OWN_WORK, thorough=True)
    sign_in(page, site.url, reader("cleo", "download_release", "add_build"))
    campaign = Campaign.objects.get()

    def look(path: str) -> None:
        if path.startswith("/"):
            page.goto(f"{site.url}{path}")
        page.wait_for_load_state()  # also of one that has loaded itself again
        for box in page.locator("details:not([name])").all():
            box.evaluate("box => { box.open = true }")
        for plot in page.locator(".plots img:visible").all():
            plot.scroll_into_view_if_needed()
            expect(plot).to_have_js_property("complete", True)
        page.evaluate("window.scrollTo(0, 0)")
        eye.look(path)

    look(f"{ADDRESS}/1")
    stored_release(campaign, 2)
    stored_release(campaign, 3, judgments=False)
    for path in ("/releases", ADDRESS, f"{ADDRESS}/2", f"{ADDRESS}/3"):
        look(path)
    build = build_of(campaign, state="running", stage="writing the formats", done=85, total=100)
    look(ADDRESS)
    build.state, build.error = "failed", "None of campaign demo's 720 triplets has a label yet."
    build.save()
    expect(page.get_by_text(build.error)).to_be_visible()  # the page reloads by itself
    look("failed")
    eye.open("/releases/changed/train.jsonl", expect=403)
    eye.assert_well()


def fetch(page: Page, address: str, folder: Path) -> tuple[str, bytes]:
    """Clicks the link; the file's name and what came."""
    with page.expect_download() as waiting:
        page.locator(f'a[href="{address}"]').click()
    target = folder / waiting.value.suggested_filename
    waiting.value.save_as(target)
    return target.name, target.read_bytes()


def test_every_format_is_downloaded_from_the_page_as_it_was_released(
    site: LiveServer, page: Page, tmp_path: Path
) -> None:
    sign_in(page, site.url, reader("dan"))
    page.goto(f"{site.url}{ADDRESS}/1")
    for box in page.locator("#files details").all():
        box.evaluate("box => { box.open = true }")
    links = page.locator("a[data-sha256]")
    offered = links.evaluate_all(
        "links => links.map(link => [link.getAttribute('href'), link.dataset.sha256])"
    )
    released = {one.sha256: one.path for one in Release.objects.get().files.all()}
    assert {sha256 for _, sha256 in offered} == set(released)
    # One of each folder and kind.
    chosen = {
        Path(released[sha256]).parent / Path(released[sha256]).suffix: (href, sha256)
        for href, sha256 in offered
    }
    assert len(chosen) >= 12
    for href, sha256 in chosen.values():
        name, content = fetch(page, href, tmp_path)
        assert hashlib.sha256(content).hexdigest() == sha256
        assert name == Path(released[sha256]).name
    assert Download.objects.count() == len(chosen)
    page.reload()
    assert page.get_by_text("1 download", exact=True).count() == len(chosen) - 1
    expect(page.get_by_text("Fetched 1 time.")).to_be_visible()


@pytest.mark.parametrize("how", ["expired", "foreign", "tampered"])
def test_a_link_that_is_not_good_opens_a_page_that_says_so(
    site: LiveServer, page: Page, axe: CheckAccess, settings: Settings, how: str
) -> None:
    dan = reader("dan")
    sign_in(page, site.url, reader("fay") if how == "foreign" else dan)
    settings.LINK_SECONDS = 0 if how == "expired" else 60
    file = Release.objects.get().files.get(path="train.jsonl")
    address = link(file, dan)
    if how == "tampered":
        address = address.replace(":", ":x", 1)
    answer = page.goto(f"{site.url}{address}")
    assert answer is not None
    assert answer.status == 403
    expect(page.get_by_role("heading", name="This link opens nothing")).to_be_visible()
    expect(page.get_by_text("get a new link there")).to_be_visible()
    axe(page)
    assert not Download.objects.exists()


def test_the_copy_button_copies_the_code_as_it_stands(site: LiveServer, page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=site.url)
    sign_in(page, site.url, reader("dan"))
    page.goto(f"{site.url}{ADDRESS}/1")
    page.get_by_role("button", name="Copy Citation in BibTeX").click()
    expect(page.get_by_text("Copied", exact=True)).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.locator("#code-citation").text_content()
    assert copied.startswith("@misc{demo-1,")


def test_where_there_is_no_clipboard_the_code_is_copied_the_old_way(
    site: LiveServer, page: Page
) -> None:
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    sign_in(page, site.url, reader("dan"))
    page.goto(f"{site.url}{ADDRESS}/1")
    page.get_by_role("button", name="Copy The command that verifies").click()
    assert page.evaluate("getSelection().toString()").strip() == "python -m exports.verify demo-1"
    expect(page.get_by_text("Copied", exact=True)).to_be_visible()


def test_the_keyboard_reaches_the_code_and_copies_it(site: LiveServer, page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=site.url)
    sign_in(page, site.url, reader("dan"))
    page.goto(f"{site.url}{ADDRESS}/1")
    page.locator("summary", has_text="pandas").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#code-pandas")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Copied", exact=True)).to_be_visible()
    assert "read_parquet" in page.evaluate("navigator.clipboard.readText()")


def test_the_progress_bar_moves_by_itself_until_the_build_has_ended(
    site: LiveServer, page: Page, axe: CheckAccess
) -> None:
    sign_in(page, site.url, reader("cleo", "download_release", "add_build"))
    page.goto(f"{site.url}{ADDRESS}")
    expect(page.get_by_label("At random")).to_have_count(0)  # as in the release before
    page.get_by_label("Include individual judgments").uncheck()
    page.get_by_role("button", name="Build a release").click()
    expect(page.get_by_text("Waiting for a worker")).to_be_visible()
    build = Build.objects.get()
    assert build.options == {"partial": False, "split": "clusters", "judgments": False}
    bar = page.get_by_role("progressbar")
    for stage, half in (("reading the record", 150), ("writing the card", 915)):
        Build.objects.update(state="running", stage=stage, done=1, total=2)
        expect(page.get_by_text(stage.capitalize())).to_be_visible()
        expect(bar).to_have_js_property("value", half / 10)
        expect(page.get_by_text(f"{half // 10} %", exact=True)).to_be_visible()
    axe(page)
    Build.objects.update(state="failed", error="None of the triplets has a label yet.")
    expect(page.get_by_text("None of the triplets has a label yet.")).to_be_visible()
    expect(page.get_by_role("button", name="Build a release")).to_be_visible()


def test_without_scripts_a_link_tells_how_far_the_build_is(
    site: LiveServer, page: Page, browser: Browser
) -> None:
    sign_in(page, site.url, reader("dan"))
    build_of(Campaign.objects.get(), state="running", stage="reading the record", done=1, total=3)
    with browser.new_context(
        java_script_enabled=False, storage_state=page.context.storage_state()
    ) as context:
        plain = context.new_page()
        plain.goto(f"{site.url}{ADDRESS}")
        expect(plain.get_by_text("10 %", exact=True)).to_be_visible()
        Build.objects.update(done=2)
        plain.get_by_role("link", name="Show progress now").click()
        expect(plain.get_by_text("20 %", exact=True)).to_be_visible()
        plain.goto(f"{site.url}{ADDRESS}/1")
        expect(plain.get_by_role("button", name="Copy")).to_have_count(0)
        expect(plain.get_by_role("link", name="demo-1.tar.zst")).to_be_visible()


def test_the_code_on_the_page_is_what_tests_run_and_fetches_the_release(
    site: LiveServer, page: Page, tmp_path: Path
) -> None:
    """The rest of it is run in tests/exports/formats/test_loading_code.py."""
    sign_in(page, site.url, reader("dan"))
    page.goto(f"{site.url}{ADDRESS}/1")
    blocks = dict(
        page.locator("code[data-language]").evaluate_all(
            "blocks => blocks.map(block => [block.id, block.textContent])"
        )
    )
    _, *loading = snippets("demo-1")
    for snippet in loading:
        assert blocks[f"code-{snippet.key}"] == snippet.code
    assert blocks["code-verify"] == "python -m exports.verify demo-1"
    command = ["bash", "-euo", "pipefail", "-c", blocks["code-download"]]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "demo-1" / "manifest.json").is_file()
