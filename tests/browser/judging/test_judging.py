"""A HIT judged inside the crowd's frame, and whatever may come between."""

import re
from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Frame, FrameLocator, Page, expect

from tests.browser.eye import PATIENCE_MS
from tests.browser.judging.judging_page import FORBIDDEN, listen_in
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db(transaction=True)

FULL = """Storage.prototype.setItem = () => {
  throw new DOMException("full", "QuotaExceededError");
};"""


def accept(stage: Stage, page: Page, item: str = "[aria-current]") -> FrameLocator:
    """Ada accepts the one HIT."""
    page.goto(f"{stage.mturk.url}/worker/AADA/hits")
    page.get_by_role("button", name="Accept").click()
    return hit_of(page, item)


def hit_of(page: Page, item: str = "[aria-current]") -> FrameLocator:
    """There is a current item as soon as the scripts are there."""
    hit = page.frame_locator("iframe")
    hit.locator(f"fieldset{item}").first.wait_for()
    return hit


def frame_of(page: Page) -> Frame:
    return page.frames[1]


def count(hit: FrameLocator) -> str:
    return hit.locator(".count").inner_text()


def current(hit: FrameLocator) -> str:
    return hit.locator("fieldset[aria-current] legend").inner_text()


def answers(hit: FrameLocator) -> str:
    """One character an item: 1, 0 or - where there is none."""
    return "".join(
        item.evaluate("item => item.querySelector('input:checked')?.value ?? '-'")
        for item in hit.locator("fieldset[data-item]").all()
    )


def answer_all(page: Page, hit: FrameLocator, key: str = "n") -> None:
    hit.locator("fieldset[data-item]").first.focus()
    for _ in range(7):
        page.keyboard.press(key)
    expect(hit.locator(".count")).to_have_text("7 of 7")


def statuses(stage: Stage) -> list[str]:
    return [status for (status,) in stage.mturk.rows("SELECT status FROM assignments")]


def submitted(stage: Stage) -> str:
    [(status, answer)] = stage.mturk.rows("SELECT status, answer FROM assignments")
    assert status == "Submitted"
    return str(answer)


def expect_thanks(page: Page) -> None:
    page.frame_locator("iframe").get_by_role("heading", name="Submitted").wait_for()


def test_a_hit_is_judged_by_mouse_inside_the_frame(framed: Stage, page: Page) -> None:
    hit = accept(framed, page)
    for item in hit.locator("fieldset[data-item]").all():
        page.wait_for_timeout(450)  # faster than this is half of a double click
        item.get_by_role("radio", name="No").click()
    hit.get_by_role("button", name="Submit").click()
    expect_thanks(page)
    assert submitted(framed).count("<FreeText>0</FreeText>") == 7
    assert framed.advance().new == 1


def test_a_hit_is_judged_by_keyboard_alone(framed: Stage, page: Page) -> None:
    page.goto(f"{framed.mturk.url}/worker/AADA/hits")
    page.get_by_role("button", name="Accept").focus()
    page.keyboard.press("Enter")
    hit = hit_of(page)
    while page.evaluate("document.activeElement.tagName") != "IFRAME":
        page.keyboard.press("Tab")
    for key in "yn10ynn":
        page.keyboard.press(key)
    assert answers(hit) == "1010100"
    page.keyboard.press("Enter")
    expect_thanks(page)
    answer = submitted(framed)
    assert answer.count("<FreeText>1</FreeText>") == 3
    assert "active_ms" in answer
    assert "order" not in answer  # the page tells what it records, and no more
    assert "report-" not in answer
    assert framed.advance().new == 1


def test_nothing_is_submitted_before_all_seven_are_answered(framed: Stage, page: Page) -> None:
    hit = accept(framed, page)
    hit.locator("fieldset[data-item]").first.focus()
    for key in ("y", "n", "j", "y", "Enter"):
        page.keyboard.press(key)
    assert answers(hit) == "10-1---"
    assert current(hit) == "Item 3 of 7"
    expect(hit.locator(".unanswered")).to_have_count(4)
    hit.get_by_role("button", name="Submit").click()
    page.wait_for_timeout(300)
    assert statuses(framed) == ["Accepted"]


def test_a_preview_has_nothing_to_press_and_sets_no_cookie(framed: Stage, page: Page) -> None:
    page.goto(f"{framed.mturk.url}/worker/AADA/hits")
    page.get_by_role("link", name="Preview").click()
    hit = hit_of(page, "[data-item]")
    assert hit.locator("button, input:not([disabled])").count() == 0
    assert page.context.cookies() == []


def test_answers_are_undone_one_by_one(framed: Stage, page: Page) -> None:
    hit = accept(framed, page)
    hit.locator("fieldset[data-item]").first.focus()
    for key in ("y", "y", "k", "k", "n"):
        page.keyboard.press(key)
    assert answers(hit) == "01-----"
    seen = []
    for key in ("u", "Control+z", "u", "u"):
        page.keyboard.press(key)
        seen.append((answers(hit), current(hit)))
    assert seen == [
        ("11-----", "Item 1 of 7"),
        ("1------", "Item 2 of 7"),
        ("-------", "Item 1 of 7"),
        ("-------", "Item 1 of 7"),
    ]


def test_the_last_answer_is_taken_back_by_a_button_too(framed: Stage, page: Page) -> None:
    hit = accept(framed, page)
    undo = hit.get_by_role("button", name="Undo")
    expect(undo).to_have_count(0)  # there is nothing to undo
    hit.get_by_role("radio", name="Yes").first.click()
    undo.click()
    assert (answers(hit), current(hit)) == ("-------", "Item 1 of 7")
    expect(undo).to_have_count(0)
    page.keyboard.press("n")
    undo.focus()
    page.keyboard.press("Enter")
    assert (answers(hit), current(hit)) == ("-------", "Item 1 of 7")


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_the_next_item_is_scrolled_into_view(
    framed: Stage, page: Page, motion: Literal["reduce", "no-preference"]
) -> None:
    page.emulate_media(reduced_motion=motion)
    hit = accept(framed, page)
    last = hit.locator("fieldset[data-item]").last
    expect(last).not_to_be_in_viewport()
    hit.locator("fieldset[data-item]").first.focus()
    for key in "nnnnnn":
        page.keyboard.press(key)
    assert current(hit) == "Item 7 of 7"
    expect(last).to_be_in_viewport()


def test_caps_lock_makes_no_other_key_of_a_key(framed: Stage, page: Page) -> None:
    hit = accept(framed, page)
    for key in "YNU":
        hit.locator("fieldset[aria-current]").evaluate(
            """(item, key) => item.dispatchEvent(
              new KeyboardEvent("keydown", { key, modifierCapsLock: true, bubbles: true }))""",
            key,
        )
    assert answers(hit) == "1------"


def test_what_is_said_twice_is_heard_twice(framed: Stage, page: Page) -> None:
    hit = accept(framed, page)
    frame_of(page).evaluate(
        """() => {
          window.heard = [];
          const place = document.querySelector(".unseen");
          const hear = () => window.heard.push(place.textContent);
          new MutationObserver(hear).observe(place, { childList: true });
        }"""
    )
    hit.locator("fieldset[data-item]").first.focus()
    words = "7 without an answer: please choose one."
    heard = "times => window.heard.filter(Boolean).length === times"
    for times in (1, 2):
        page.keyboard.press("Enter")
        frame_of(page).wait_for_function(heard, arg=times)
    assert frame_of(page).evaluate("window.heard")[-3:] == [words, "", words]


def test_the_browsers_own_keys_choose_without_leaving_the_item(framed: Stage, page: Page) -> None:
    hit = accept(framed, page)
    hit.get_by_role("radio", name="Yes").first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    assert answers(hit) == "0------"
    assert current(hit) == "Item 1 of 7"
    page.keyboard.press("ArrowDown")
    assert answers(hit) == "0------"
    assert current(hit) == "Item 2 of 7"


def test_no_key_counts_with_a_modifier(framed: Stage, page: Page) -> None:
    hit = accept(framed, page)
    hit.locator("fieldset[data-item]").first.focus()
    page.keyboard.press("y")
    for key in ("Control+y", "Alt+n", "Meta+1", "Shift+N", "Control+Shift+z"):
        page.keyboard.press(key)
        assert answers(hit) == "1------", key


def test_a_key_held_down_is_one_answer(framed: Stage, page: Page) -> None:
    hit = accept(framed, page)
    hit.locator("fieldset[data-item]").first.focus()
    for _ in range(4):
        page.keyboard.down("n")
    page.keyboard.up("n")
    assert answers(hit) == "0------"


def test_single_keys_can_be_switched_off_and_stay_so(framed: Stage, page: Page) -> None:
    hit = accept(framed, page)
    hit.locator("fieldset[data-item]").first.focus()
    page.keyboard.press("?")
    page.keyboard.press("y")  # while help covers the page
    hit.get_by_label("Use single keys").uncheck()
    page.keyboard.press("Escape")
    page.reload()
    hit = hit_of(page)
    hit.locator("fieldset[data-item]").first.focus()
    page.keyboard.press("y")
    assert answers(hit) == "-------"


def test_a_report_is_typed_without_answering_and_travels_with_the_answers(
    framed: Stage, page: Page
) -> None:
    hit = accept(framed, page)
    item = hit.locator("fieldset[data-item]").nth(1)
    item.get_by_text("Report this item").click()
    item.get_by_label("What is wrong with it?").select_option("unclear")
    item.get_by_label("Details (optional)").press_sequentially("yn10 j\nk?")
    assert answers(hit) == "-------"
    page.reload()
    hit = hit_of(page)
    item = hit.locator("fieldset[data-item]").nth(1)
    assert item.locator("summary").inner_text() == "Reported"
    answer_all(page, hit)
    page.keyboard.press("Enter")
    expect_thanks(page)
    answer = submitted(framed)
    assert answer.count("report-") == 2
    assert "<FreeText>unclear</FreeText>" in answer
    assert "yn10 j" in answer


def test_answers_come_back_after_a_reload_half_way(framed: Stage, page: Page) -> None:
    hit = accept(framed, page)
    hit.locator("fieldset[data-item]").first.focus()
    for key in "yny":
        page.keyboard.press(key)
    page.reload()
    hit = hit_of(page)
    assert answers(hit) == "101----"
    assert (count(hit), current(hit)) == ("3 of 7", "Item 4 of 7")


def test_answers_of_another_assignment_stay_away_and_old_ones_are_cleaned(
    framed: Stage, page: Page
) -> None:
    hit = accept(framed, page)
    frame_of(page).evaluate(
        """() => {
          const days = (count) => Date.now() - count * 24 * 3600 * 1000;
          const keep = (name, at) => localStorage.setItem(name, JSON.stringify({ v: 1, at }));
          keep("quorum:hit:young", days(13));
          keep("quorum:hit:old", days(15));
          localStorage.setItem("quorum:hit:broken", "{");
          localStorage.setItem("somebody else's", "1");
        }"""
    )
    page.reload()
    hit = hit_of(page)
    assert answers(hit) == "-------"
    kept = set(frame_of(page).evaluate("Object.keys(localStorage)"))
    assert {"quorum:hit:young", "somebody else's"} <= kept
    assert kept.isdisjoint({"quorum:hit:old", "quorum:hit:broken"})


def test_the_network_is_cut_at_submit_and_comes_back(framed: Stage, page: Page) -> None:
    hit = accept(framed, page)
    answer_all(page, hit)
    page.context.set_offline(True)
    page.keyboard.press("Enter")
    note = hit.locator(".note")
    expect(note).to_contain_text("No connection: your answers are kept here; trying again in")
    # It was tried in vain three times. Each number stands there for a second.
    expect(note).to_contain_text(re.compile("in [34] s"))
    assert answers(hit) == "0000000"
    assert statuses(framed) == ["Accepted"]
    page.context.set_offline(False)
    expect_thanks(page)
    assert submitted(framed).count("<FreeText>0</FreeText>") == 7


def test_where_our_own_site_alone_is_away_the_answers_can_be_sent_all_the_same(
    framed: Stage, page: Page
) -> None:
    listen_in(page)
    hit = accept(framed, page)
    answer_all(page, hit)
    page.route("**/health", lambda route: route.abort())
    page.keyboard.press("Enter")
    hit.get_by_role("button", name="Submit anyway").click()
    expect_thanks(page)


def test_a_double_click_submits_once(framed: Stage, page: Page) -> None:
    hit = accept(framed, page)
    answer_all(page, hit)
    sent = []
    page.on("request", lambda request: sent.append(request.url))
    hit.get_by_role("button", name="Submit").dblclick()
    expect_thanks(page)
    assert len([url for url in sent if url.endswith("externalSubmit")]) == 1


def test_a_double_click_on_a_choice_answers_one_item(framed: Stage, page: Page) -> None:
    hit = accept(framed, page)
    # The page has moved on under the mouse before the second click comes.
    frame_of(page).evaluate(
        """() => {
          const click = { detail: 1, bubbles: true, cancelable: true };
          for (const radio of [...document.querySelectorAll("[value='1'][type=radio]")].slice(0, 2))
            radio.dispatchEvent(new MouseEvent("click", click));
        }"""
    )
    assert answers(hit) == "1------"
    page.wait_for_timeout(450)
    hit.get_by_role("radio", name="No").nth(1).click()
    assert answers(hit) == "10-----"


def test_two_tabs_of_one_assignment_go_together(framed: Stage, page: Page) -> None:
    hit = accept(framed, page)
    other = page.context.new_page()
    other.goto(page.url)
    twin = hit_of(other)
    hit.locator("fieldset[data-item]").first.focus()
    page.keyboard.press("y")
    expect(twin.locator(".count")).to_have_text("1 of 7")
    assert answers(twin) == "1------"
    answer_all(page, hit)
    page.keyboard.press("Enter")
    expect_thanks(page)
    expect(twin.locator(".note")).to_contain_text("submitted from another tab")
    expect(twin.get_by_role("button", name="Submit")).to_be_disabled()
    expect(twin.locator("input[type=radio]:enabled")).to_have_count(0)
    assert "-" not in answers(twin)


def test_a_tab_that_hears_of_all_at_once_shows_the_answers_too(framed: Stage, page: Page) -> None:
    hit = accept(framed, page)
    other = page.context.new_page()
    other.goto(page.url)
    twin = hit_of(other)
    hit.get_by_role("radio", name="Yes").first.click()
    expect(twin.locator(".count")).to_have_text("1 of 7")
    frame_of(page).evaluate(
        """() => {
          const [[name, kept]] = Object.entries(localStorage);
          const entry = JSON.parse(kept);
          for (const item of document.querySelectorAll("[data-item]"))
            entry.answers[item.dataset.item] = "0";
          localStorage.setItem(name, JSON.stringify({ ...entry, sent: Date.now() }));
        }"""
    )
    expect(twin.locator(".note")).to_contain_text("submitted from another tab")
    assert answers(twin) == "0000000"


def test_what_is_submitted_is_forgotten_when_the_page_of_the_assignment_says_so(
    framed: Stage, page: Page
) -> None:
    hit = accept(framed, page)
    address = frame_of(page).url
    answer_all(page, hit)
    page.keyboard.press("Enter")
    expect_thanks(page)
    framed.advance()
    page.goto(address)
    page.get_by_role("heading", name="This task is submitted").wait_for()
    [kept] = page.evaluate("Object.values(localStorage)")
    assert "answers" not in kept


@pytest.mark.parametrize("fault", [FORBIDDEN, FULL])
def test_where_nothing_can_be_kept_the_page_says_so_and_works(
    framed: Stage, page: Page, fault: str
) -> None:
    page.add_init_script(fault)
    hit = accept(framed, page)
    answer_all(page, hit)
    expect(hit.locator(".note")).to_contain_text("This browser keeps nothing")
    page.keyboard.press("Enter")
    expect_thanks(page)


@pytest.fixture
def plain(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context(java_script_enabled=False) as context:
        context.set_default_timeout(PATIENCE_MS)
        yield context


def test_without_scripts_the_page_works_all_the_same(framed: Stage, plain: BrowserContext) -> None:
    page = plain.new_page()
    hit = accept(framed, page, "[data-item]")
    expect(hit.get_by_text("After each answer")).to_be_hidden()  # once the frame has its styles
    items = hit.locator("fieldset[data-item]").all()
    for item in items[:6]:
        item.get_by_role("radio", name="Yes").click()
    hit.get_by_role("button", name="Submit").click()
    page.wait_for_timeout(300)
    assert statuses(framed) == ["Accepted"]
    items[6].get_by_role("radio", name="No").click()
    hit.get_by_role("button", name="Submit").click()
    expect_thanks(page)
    assert framed.advance().new == 1
