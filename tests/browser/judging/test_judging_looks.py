"""The judging page as people see it: pictures to look at, axe, weight and calm."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations

import pytest
from playwright.sync_api import Browser, Page, Request, ViewportSize, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from annotation.crowd.hit_url import hit_url
from annotation.crowd.inhouse.models import Assignment
from annotation.models import Campaign
from annotation.pipeline.setup.create import policy_from
from annotation.pipeline.setup.default_instructions import default_instructions
from annotation.protocol.policy.policy import Policy
from tests.annotation.support.hits import Row, make_campaign, make_hit
from tests.browser.eye import PATIENCE_MS, PHONE, Eye
from tests.worlds.hostile import MARK, MARKUP
from tests.worlds.team import Team

pytestmark = pytest.mark.django_db(transaction=True)

REAL: list[Row] = [
    (
        "How do I remove lime deposits from my kettle?",
        "How do I remove lime deposits from my iron?",
        "Citric acid powder in warm water, left in for half an hour, because it doesn't smell.",
    ),
    (
        "What event started the First World War?",
        "What event started the Second World War?",
        "Germany's invasion of Poland on 1 September 1939.",
    ),
    (
        "why do my ears hurt when the plane goes down",
        "For what reason do passengers experience pain in the ears as the aircraft loses height"
        " before landing?",
        "During descent the cabin is brought back to ground pressure over some twenty minutes. Air"
        " has to flow up the Eustachian tube into the middle ear to match it. That tube opens"
        " easily outwards but poorly inwards, so a partial vacuum forms and pulls on the eardrum."
        " Swallowing, yawning or chewing opens it for a moment. Babies should be given a bottle."
        " Who has a cold feels it more, since the lining of the tube is swollen; a decongestant"
        " spray half an hour before landing helps. Should the pain last for more than a day, or"
        " hearing stay dull, a doctor should look at the eardrum.",
    ),
    (
        "What is the largest lake in the world by area?",
        "What is the largest lake in the world by volume?",
        "Lake Baikal, if the Caspian Sea is not counted as a lake.",
    ),
    (
        "ما هي أكبر بحيرة في العالم؟",
        "ما هي أعمق بحيرة في العالم؟",
        "بحيرة بايكال في سيبيريا، ويبلغ عمقها 1642 مترًا.",
    ),
]
ADA = "?assignmentId=3ADA&workerId=AADA"
WIDE: ViewportSize = {"width": 1440, "height": 900}
SHIFTS = """
window.shifts = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.shifts += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""

BOXES = """(selector) => [...document.querySelectorAll(selector)]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }))
  .map((one) => {
    const { left, top, right, bottom } = one.getBoundingClientRect();
    return [left, top, right, bottom];
  })"""
IN_THE_BAR = ".bar .count, .bar button"
IN_AN_ITEM = "[aria-current] .choice label, [aria-current] .report summary"

Publish = Callable[[list[Row]], str]
Box = tuple[float, float, float, float]


@pytest.fixture
def publish(live_server: LiveServer, settings: Settings, transactional_db: None) -> Publish:
    """The address of a page with these texts, in an assignment of ada's."""

    def make(rows: list[Row]) -> str:
        settings.PUBLIC_URL = live_server.url
        settings.MTURK_ENDPOINT = "http://127.0.0.1:8089"
        campaign = make_campaign(text=default_instructions(Policy()), mark_differences=True)
        return hit_url(make_hit(campaign, real=rows).key) + ADA

    return make


@pytest.fixture
def address(publish: Publish) -> str:
    return publish(REAL)


@contextmanager
def opened(browser: Browser, address: str, **options: object) -> Iterator[Page]:
    with browser.new_context(reduced_motion="reduce", **options) as context:  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        page.goto(address)
        yield page


def answer(page: Page, keys: str) -> None:
    page.locator("fieldset[aria-current]").wait_for()  # then the scripts are there
    for key in keys:
        page.keyboard.press(key)


def test_the_page_on_a_wide_screen(address: str, browser: Browser) -> None:
    with opened(browser, address, viewport=WIDE) as page:
        eye = Eye(page, at=WIDE, other=None)
        assert page.get_by_role("region", name="Instructions").is_visible()
        eye.look("judging")
        answer(page, "yn")
        eye.look("judging-begun")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keys and help")).to_be_visible()
        eye.look("judging-help")
        page.keyboard.press("Escape")
        page.keyboard.press("Enter")
        eye.look("judging-missing")
        answer(page, "nnnnn")
        page.context.set_offline(True)
        page.keyboard.press("Enter")
        expect(page.locator(".note")).to_contain_text("No connection")
        eye.look("judging-offline")
        eye.faults = [one for one in eye.faults if "ERR_INTERNET_DISCONNECTED" not in one]
        eye.assert_well()


def test_answers_to_judge_on_any_screen(
    live_server: LiveServer, settings: Settings, browser: Browser
) -> None:
    settings.PUBLIC_URL = live_server.url
    policy = policy_from({"task": "answer", "cannot_judge_limit": 2})
    campaign = make_campaign(text=default_instructions(policy), **policy.to_dict())
    address = hit_url(make_hit(campaign, real=REAL).key) + ADA
    with opened(browser, address, viewport=WIDE) as page:
        eye = Eye(page, at=WIDE, other=PHONE)
        expect(page.get_by_role("heading", level=1)).to_have_text("Are these answers right?")
        eye.look("answers")
        answer(page, "yn")
        eye.look("answers-begun")
        eye.assert_well()


def test_the_page_on_a_phone(address: str, browser: Browser) -> None:
    with opened(browser, address, viewport=PHONE, has_touch=True) as page:
        eye = Eye(page, at=PHONE, other=None)
        eye.look("judging-phone")
        page.get_by_role("radio", name="No").nth(1).tap()
        page.get_by_role("button", name="Instructions").tap()
        expect(page.get_by_role("region", name="Instructions")).to_be_visible()
        eye.look("judging-phone-instructions")
        page.get_by_role("button", name="Close").tap()
        page.get_by_text("Report this item").nth(2).tap()
        eye.look("judging-phone-report")
        eye.assert_well()


@pytest.mark.parametrize(
    ("has_touch", "said"), [(True, "you can submit."), (False, "press Enter to submit.")]
)
def test_who_has_no_keys_is_told_of_none(
    address: str, browser: Browser, has_touch: bool, said: str
) -> None:
    with opened(browser, address, viewport=PHONE, has_touch=has_touch, is_mobile=has_touch) as page:
        answer(page, "nnnnnnn")
        expect(page.get_by_text("All items are answered")).to_have_text(
            f"All items are answered: {said}"
        )


def test_what_is_pressed_lies_over_nothing_else(address: str, browser: Browser) -> None:
    with opened(browser, address, viewport=PHONE) as page:
        answer(page, "yn")
        for width in (320, 390, 544, 545, 640):
            page.set_viewport_size({"width": width, "height": 700})
            for label in ("Submit anyway", "Submit"):
                page.locator(".bar .submit").evaluate("(one, it) => (one.textContent = it)", label)
                assert_apart(page.evaluate(BOXES, IN_THE_BAR), width, count=5)
            assert_apart(page.evaluate(BOXES, IN_AN_ITEM), width, count=3)


def assert_apart(boxes: list[Box], width: int, *, count: int) -> None:
    assert len(boxes) == count
    assert all(left >= 0 and right <= width for left, _, right, _ in boxes)
    assert [pair for pair in combinations(boxes, 2) if do_overlap(*pair)] == []


def do_overlap(one: Box, other: Box) -> bool:
    left, top, right, bottom = one
    return left < other[2] and other[0] < right and top < other[3] and other[1] < bottom


def test_instructions_from_right_to_left_stand_at_the_right(
    live_server: LiveServer, settings: Settings, browser: Browser, transactional_db: None
) -> None:
    settings.PUBLIC_URL = live_server.url
    settings.MTURK_ENDPOINT = "http://127.0.0.1:8089"
    campaign = make_campaign(text=REAL[4][2])
    with opened(browser, hit_url(make_hit(campaign).key) + ADA, viewport=WIDE) as page:
        prose = page.locator(".guide .markdown")
        assert prose.evaluate("one => getComputedStyle(one).direction") == "rtl"


def test_a_preview_and_a_refusal(address: str, browser: Browser) -> None:
    with opened(browser, address.partition("?")[0], viewport=WIDE) as page:
        eye = Eye(page, at=WIDE, other=None)
        eye.look("judging-preview")
        Campaign.objects.update(state=Campaign.State.CANCELLED)
        page.reload()
        page.get_by_role("heading", name="This task is over").wait_for()
        eye.look("judging-over")
        eye.assert_well()


def test_the_page_of_a_member(team: Team, page: Page) -> None:
    eye = Eye(page, at=WIDE, other=None)
    team.sign_in(page, "ada")
    page.goto(f"{team.url}/work")
    page.get_by_role("button", name="Start").click()
    page.locator("fieldset[data-item]").nth(6).wait_for()
    answer(page, "n")
    eye.look("judging-member")
    page.get_by_role("button", name="Skip this task").click()
    eye.look("judging-skip")
    page.get_by_role("button", name="Keep it").click()
    answer(page, "nnnnnn")
    Assignment.objects.update(status="returned")
    page.keyboard.press("Enter")
    expect(page.locator(".note")).to_contain_text("You have returned this task")
    eye.look("judging-refused")
    eye.assert_well()


def test_nothing_moves_but_what_the_worker_moves(address: str, browser: Browser) -> None:
    with opened(browser, "about:blank", viewport=WIDE) as page:
        page.add_init_script(SHIFTS)
        page.goto(address)
        page.wait_for_timeout(300)
        answer(page, "ynynynyu")
        page.wait_for_timeout(300)
        assert page.evaluate("window.shifts") < 0.001


def test_the_page_weighs_under_100_kb_and_asks_no_other_host(
    address: str, browser: Browser, live_server: LiveServer
) -> None:
    loaded: list[Request] = []
    hosts: set[str] = set()
    with opened(browser, "about:blank") as page:
        page.on("request", lambda request: hosts.add("/".join(request.url.split("/")[:3])))
        page.on("requestfinished", lambda one: loaded.append(one))
        page.goto(address)
        answer(page, "yn?")
        expect(page.get_by_role("dialog", name="Keys and help")).to_be_visible()
        page.wait_for_load_state("networkidle")
        weights = {one.url: len(one.response().body()) for one in loaded}
    assert hosts == {live_server.url}
    assert len(weights) >= 15
    assert sum(weights.values()) < 100_000


def test_the_current_item_is_never_behind_the_bar(address: str, browser: Browser) -> None:
    with opened(browser, address, viewport={"width": 1200, "height": 620}) as page:
        for key in ("y", "n", "y", "j", "j", "y", "k", "k", "y"):
            page.keyboard.press(key)
            item = page.locator("fieldset[aria-current]").bounding_box()
            bar = page.locator(".bar").bounding_box()
            assert item
            assert bar
            assert item["y"] >= 0
            assert item["y"] + item["height"] <= bar["y"] or item["height"] > bar["y"] - 32


def test_a_long_answer_is_folded_until_it_is_asked_for(address: str, browser: Browser) -> None:
    with opened(browser, address, viewport=PHONE) as page:
        fold = page.get_by_text("Show all")
        assert fold.count() == 1
        text = page.locator(".fold + .answer")
        folded = text.bounding_box()
        fold.click()
        unfolded = text.bounding_box()
        assert folded
        assert unfolded
        assert unfolded["height"] > 2 * folded["height"]
        assert page.get_by_text("Show less").is_visible()


def test_texts_from_right_to_left_stand_at_the_right(address: str, browser: Browser) -> None:
    with opened(browser, address) as page:
        queries = page.locator(".query").all()
        directions = [
            query.evaluate("query => getComputedStyle(query).direction") for query in queries
        ]
        assert directions == ["ltr"] * 6 + ["rtl"]
        assert page.locator("mark", has_text="أكبر").is_visible()


def test_hostile_texts_are_only_read(publish: Publish, browser: Browser) -> None:
    attacks = list(MARKUP.values())
    rows = [(attack, f"{attack} ?", f"{attack} !") for attack in attacks]
    faults: list[str] = []
    with opened(browser, "about:blank") as page:
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(publish(rows))
        answer(page, "y" * len(rows))
        assert page.evaluate(f"window.__{MARK}") is None
        assert page.locator(f".{MARK}").count() == 0
        shown = page.locator(".answer").all_text_contents()
        assert {f"{attack} !" for attack in attacks} <= set(shown)
    assert faults == []
