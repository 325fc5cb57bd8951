"""A page that a requester wrote, in its frame on the emulator's site, as a browser treats it."""

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.annotation.crowd.emulator.conftest import running
from tests.annotation.crowd.emulator.forms import html_question
from tests.annotation.crowd.emulator.turk import DAY

PAGE = """<!DOCTYPE html>
<html><head>
<script src='https://s3.amazonaws.com/mturk-public/externalHIT_v1.js'></script></head>
<body><form method='post' id='mturk_form' action='https://www.mturk.com/mturk/externalSubmit'>
<input type='hidden' name='assignmentId' id='assignmentId' value=''>
<textarea name='comment'></textarea><input type='submit' id='submitButton'></form><p></p>
<script>
turkSetAssignmentID();
const reached = [() => parent.document.title, () => top.location.href, () => document.cookie,
  () => localStorage.length].filter((attempt) => { try { attempt(); return true; } catch {} });
document.querySelector("p").textContent = `reached ${reached.length}`;
</script></body></html>"""


def test_it_submits_to_us_and_reaches_nothing_around_it(page: Page, tmp_path: Path) -> None:
    with running(tmp_path / "state.sqlite3") as turk:
        hit_id = turk.hit(Question=html_question(PAGE), LifetimeInSeconds=DAY)
        ada = turk.worker("AADA")
        page.goto(f"{turk.url}/worker/AADA/hits/{hit_id}/preview")
        expect(page.frame_locator("iframe").locator("#submitButton")).to_be_disabled()
        page.goto(f"{turk.url}/worker/AADA/assignments/{ada.take(hit_id)}")
        frame = page.frame_locator("iframe")
        expect(frame.locator("p")).to_have_text("reached 0")
        frame.locator("textarea").fill("seen")
        frame.locator("#submitButton").click()
        expect(frame.locator("h1")).to_have_text("Submitted")
        (done,) = turk.assignments(hit_id)
        assert "<FreeText>seen</FreeText>" in done["Answer"]
        page.get_by_role("link", name="Worker AADA: HITs").click()
        expect(page.locator("h1")).to_have_text("HITs")
