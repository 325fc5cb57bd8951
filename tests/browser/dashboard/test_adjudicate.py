"""An expert at the adjudication page, in a real browser."""

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Campaign, ExpertLabel, HitItem, Instructions, ItemReport
from annotation.pipeline.setup.default_instructions import default_instructions
from annotation.protocol.policy.policy import Policy
from tests.browser.conftest import sign_in
from tests.browser.eye import OWN_WORK, PHONE, Eye
from tests.exports.support.campaigns import make_campaign

TIE = "ada+ bob- third+ fourth-"
QUERY = "Can I wash a wool jumper at 30 degrees?"
QUESTION = "Can I wash a silk shirt at 30 degrees?"
ANSWER = "Yes, in the programme for delicates, with a soap for wool. " * 3


@pytest.fixture
def campaign(transactional_db: None) -> Campaign:
    """Three unresolved triplets, one of them reported, all of the same query."""
    campaign = make_campaign({"wool": [TIE] * 3, "moon": ["ada+ bob+"] * 3})
    texts = default_instructions(Policy())
    Instructions.objects.create(campaign=campaign, version=2, text=texts)
    for triplet in campaign.triplets.filter(status="unresolved"):
        candidate = triplet.candidate
        candidate.query.text, candidate.pair.question = QUERY, QUESTION
        candidate.pair.answer = f"{ANSWER}{triplet.pk}"
        candidate.query.save()
        candidate.pair.save()
        item = HitItem.objects.get(triplet=triplet)
        ItemReport.objects.create(
            assignment=item.hit.assignments.earliest("pk"),
            item=item,
            reason="unclear",
            text="Is silk a kind of wool here?",
        )
    return campaign


@pytest.fixture
def adjudication(page: Page, live_server: LiveServer, campaign: Campaign) -> Page:
    sign_in(page, live_server.url)
    page.goto(f"{live_server.url}/campaigns/{campaign}/adjudicate")
    return page


def labels() -> list[int]:
    return list(ExpertLabel.objects.order_by("pk").values_list("label", flat=True))


def test_three_triplets_are_decided_by_the_keyboard_alone(adjudication: Page) -> None:
    for number, (key, said) in enumerate((("y", "Yes"), ("n", "No"), ("y", "Yes"))):
        expect(adjudication.get_by_text(f"{number} of 3 decided by you")).to_be_visible()
        expect(adjudication.get_by_text("Votes")).to_have_count(0)
        expect(adjudication.get_by_label("Use single keys")).to_be_visible()  # by the script
        adjudication.keyboard.press(key)
        expect(adjudication.get_by_role("heading", name=f"You said {said}")).to_be_visible()
        expect(adjudication.get_by_text("2 Yes, 2 No")).to_be_visible()
        expect(adjudication.get_by_role("link", name="Next")).to_be_focused()
        adjudication.keyboard.press("Enter")
    expect(adjudication.get_by_text("Nothing left to decide here")).to_be_visible()
    assert labels() == [1, 0, 1]


def test_keys_written_in_the_note_decide_nothing(adjudication: Page) -> None:
    adjudication.get_by_label("Note").focus()
    adjudication.keyboard.type("yes, not sure")
    assert labels() == []
    adjudication.keyboard.press("Tab")
    adjudication.get_by_role("button", name="No").focus()
    adjudication.keyboard.press("Enter")
    expect(adjudication.get_by_role("heading", name="You said No")).to_be_visible()
    assert ExpertLabel.objects.get().note == "yes, not sure"


def test_single_keys_can_be_switched_off_for_good(adjudication: Page) -> None:
    adjudication.get_by_label("Use single keys").uncheck()
    adjudication.reload()
    expect(adjudication.get_by_label("Use single keys")).not_to_be_checked()
    adjudication.get_by_role("heading", name="Adjudicate").click()
    adjudication.keyboard.press("y")
    adjudication.get_by_label("Use single keys").check()
    adjudication.keyboard.press("n")
    expect(adjudication.get_by_role("heading", name="You said No")).to_be_visible()
    assert labels() == [0]


def test_a_key_that_is_held_down_decides_once(adjudication: Page) -> None:
    for _ in range(5):
        adjudication.keyboard.down("y")
    expect(adjudication.get_by_role("heading", name="You said Yes")).to_be_visible()
    assert labels() == [1]


def test_a_label_is_changed_manually(adjudication: Page) -> None:
    adjudication.keyboard.press("y")
    expect(adjudication.get_by_role("link", name="Next")).to_be_focused()
    adjudication.get_by_text("Change your label or note").press("Enter")
    adjudication.get_by_label("Note").fill("a second look")
    adjudication.get_by_role("button", name="Change to No").press("Enter")
    expect(adjudication.get_by_role("heading", name="You said No")).to_be_visible()
    expect(adjudication.get_by_text("a second look").first).to_be_visible()
    assert labels() == [0]


def test_a_script_that_comes_late_leaves_the_focus_where_it_is(adjudication: Page) -> None:
    held: list[Route] = []
    adjudication.route("**/adjudicate*.js", lambda route: held.append(route))
    with adjudication.expect_request("**/adjudicate*.js"):
        adjudication.get_by_role("button", name="Yes").click()
    change = adjudication.get_by_text("Change your label or note")
    change.click()
    expect(change).to_be_focused()
    held[0].continue_()
    adjudication.wait_for_load_state()
    expect(change).to_be_focused()


def test_skipping_leads_on_and_comes_back(adjudication: Page) -> None:
    seen = []
    for _ in range(4):
        seen.append(adjudication.locator(".answer").inner_text())
        with adjudication.expect_navigation():
            adjudication.keyboard.press("s")
    assert len(set(seen)) == 3
    assert seen[3] == seen[0]
    assert labels() == []


def test_a_double_click_is_one_decision(adjudication: Page) -> None:
    # At once: the second of two that a mouse sends may come when the next page is there.
    adjudication.get_by_role("button", name="Yes").evaluate(
        "button => { button.click(); button.click(); }"
    )
    expect(adjudication.get_by_role("heading", name="You said Yes")).to_be_visible()
    assert labels() == [1]


def test_two_experts_at_once_see_their_own_labels_alone(
    adjudication: Page, browser: Browser, live_server: LiveServer
) -> None:
    with browser.new_context() as context:
        other = context.new_page()
        sign_in(other, live_server.url, "bob")
        other.goto(adjudication.url)
        adjudication.keyboard.press("y")
        expect(adjudication.get_by_text("1 of 3 decided by you")).to_be_visible()
        other.keyboard.press("n")
        expect(other.get_by_text("1 of 3 decided by you")).to_be_visible()
    assert sorted(ExpertLabel.objects.values_list("expert", "label")) == [("ada", 1), ("bob", 0)]


def test_without_scripts_the_page_works_all_the_same(
    browser: Browser, live_server: LiveServer, campaign: Campaign
) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        sign_in(page, live_server.url)
        page.goto(f"{live_server.url}/campaigns/{campaign}/adjudicate")
        page.get_by_role("button", name="No").click()
        expect(page.get_by_role("heading", name="You said No")).to_be_visible()
    assert labels() == [0]


def test_it_is_readable_before_and_after_the_decision_and_where_nothing_is_left(
    adjudication: Page,
) -> None:
    eye = Eye(adjudication, at=PHONE, other=OWN_WORK, thorough=True)
    eye.look("before")
    note = adjudication.get_by_label("Note")
    note.evaluate("note => note.removeAttribute('maxlength')")
    note.fill("silk " * 500)
    adjudication.get_by_role("button", name="Skip").click()
    expect(adjudication.get_by_role("alert")).to_contain_text("at most 2,000 characters")
    assert note.input_value().startswith("silk silk")
    eye.look("too long a note")
    note.fill("Another cloth, another answer.")
    adjudication.get_by_role("button", name="No").click()
    expect(adjudication.get_by_role("heading", name="You said No")).to_be_visible()
    eye.look("after")
    adjudication.get_by_text("Change your label or note").click()
    adjudication.get_by_text("Instructions and examples").click()
    eye.look("open")
    ItemReport.objects.all().delete()
    adjudication.get_by_role("link", name="Reported").click()
    expect(adjudication.get_by_text("Annotators have not reported")).to_be_visible()
    eye.look("empty")
    eye.assert_well()
