"""The HIT page as the crowd's frame shows it."""

import re
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from lxml import html
from lxml.html import HtmlElement
from pytest_django import Settings

from annotation.crowd.hit_url import hit_url
from annotation.models import Assignment, Campaign, Exclusion, Hit, HitItem, Worker
from tests.annotation.support.hits import NEGATIVE, POSITIVE, REAL, make_campaign, make_hit
from tests.support.pages import Response, parse

pytestmark = pytest.mark.django_db

EMULATOR = "http://127.0.0.1:8089"
ADAS = {"assignmentId": "3ADA", "hitId": "3HIT", "workerId": "AADA", "turkSubmitTo": EMULATOR}
TEXTS = {"query", "question", "answer"}


@pytest.fixture(autouse=True)
def _addresses(settings: Settings) -> None:
    settings.PUBLIC_URL = "https://quorum.example.org"
    settings.MTURK_ENDPOINT = EMULATOR


@pytest.fixture
def campaign() -> Campaign:
    return make_campaign()


@pytest.fixture
def hit(campaign: Campaign) -> Hit:
    return make_hit(campaign)


Open = Callable[..., Response]


@pytest.fixture
def visit(client: Client) -> Open:
    def open_page(hit: Hit, parameters: dict[str, str] = ADAS) -> Response:
        path = hit_url(hit.key).removeprefix("https://quorum.example.org")
        return client.get(path, parameters)

    return open_page


def test_the_page_keeps_the_contract_that_workers_programs_read(hit: Hit, visit: Open) -> None:
    page = parse(visit(hit))
    (form,) = page.xpath("//form")
    assert form.get("method") == "post"
    assert form.get("action") == f"{EMULATOR}/mturk/externalSubmit"
    hidden = {field.get("name"): field.get("value") for field in form.xpath(".//*[@type='hidden']")}
    assert hidden == {"assignmentId": "3ADA", "behaviour": ""}
    fieldsets = form.xpath(".//fieldset[@data-item]")
    assert len(fieldsets) == 7
    for item, fieldset in zip(hit.items.order_by("position"), fieldsets, strict=True):
        assert fieldset.get("data-item") == item.key
        radios = fieldset.xpath(".//input[@type='radio']")
        assert [radio.get("value") for radio in radios] == ["1", "0"]
        assert {radio.get("name") for radio in radios} == {f"item-{item.key}"}
        assert all(radio.get("required") is not None for radio in radios)
        assert all(radio.get("checked") is None for radio in radios)


def test_items_stand_in_the_order_of_their_positions_with_their_texts(
    hit: Hit, visit: Open
) -> None:
    expected = [*REAL[:2], POSITIVE, *REAL[2:4], NEGATIVE, REAL[4]]
    assert shown_texts(parse(visit(hit))) == [list(row) for row in expected]


def shown_texts(page: HtmlElement) -> list[list[str]]:
    return [
        [element.text_content() for element in item.iter() if element.get("class") in TEXTS]
        for item in page.xpath("//fieldset[@data-item]")
    ]


def test_answers_are_shown_only_where_the_policy_says_so(visit: Open) -> None:
    page = parse(visit(make_hit(make_campaign(show_answer=False))))
    assert page.find_class("answer") == []
    assert "Seven minutes." not in page.text_content()
    assert len(page.find_class("question")) == 7


def test_one_item_without_an_answer_hides_them_all_so_that_none_stands_out(
    campaign: Campaign, visit: Open
) -> None:
    hit = make_hit(campaign, positive=(*POSITIVE[:2], ""))
    assert parse(visit(hit)).find_class("answer") == []


def test_nothing_but_the_texts_tells_a_control_from_a_real_item(hit: Hit, visit: Open) -> None:
    fieldsets = parse(visit(hit)).xpath("//fieldset[@data-item]")
    shapes = {shape(fieldset, fieldset.get("data-item")) for fieldset in fieldsets}
    assert len(shapes) == 1
    assert b"control" not in visit(hit).content.lower()


def shape(fieldset: HtmlElement, key: str) -> str:
    """The item's HTML without its texts, its key and its number."""
    for element in fieldset.xpath(".//dd"):
        element.clear()
    markup = html.tostring(fieldset, encoding="unicode", with_tail=False).replace(key, "KEY")
    return re.sub(r"Item \d", "Item", markup)


@pytest.mark.parametrize("parameters", [{}, {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}])
def test_a_preview_shows_the_items_but_nothing_to_press(
    hit: Hit, visit: Open, parameters: dict[str, str]
) -> None:
    page = parse(visit(hit, parameters))
    assert "preview" in page.text_content()
    assert page.xpath("//form | //input | //button") == []
    assert len(page.find_class("query")) == 7
    [guide] = page.xpath("//section[@id='guide']")
    assert guide.get("popover") is None
    assert "Both ask the same." in guide.text_content()


@pytest.mark.parametrize(
    ("name", "value"),
    [("assignmentId", "<script>"), ("turkSubmitTo", "https://evil.example")],
)
def test_a_parameter_of_no_crowd_is_refused_in_one_sentence(
    hit: Hit, visit: Open, name: str, value: str
) -> None:
    response = visit(hit, ADAS | {name: value})
    assert response.status_code == 400
    assert parse(response).xpath("//form | //script[not(@src)]") == []
    assert name in parse(response).text_content()


def test_the_answers_go_where_the_sandbox_wants_them(
    settings: Settings, hit: Hit, visit: Open
) -> None:
    settings.MTURK_ENDPOINT = "https://mturk-requester-sandbox.us-east-1.amazonaws.com"
    site = "https://workersandbox.mturk.com"
    response = visit(hit, ADAS | {"turkSubmitTo": site})
    assert parse(response).xpath("//form/@action") == [f"{site}/mturk/externalSubmit"]
    # A browser applies the rule to the redirect after the submit too.
    assert {site, "https://worker.mturk.com"} <= set(directives(response)["form-action"])


def test_a_forged_address_leads_to_a_page_that_says_so(client: Client, hit: Hit) -> None:
    for forged in ["faq-1", "faq-1:AAAA", ":", "faq-1%3Ax"]:
        response = client.get(f"/hit/{forged}", ADAS)
        assert response.status_code == 404
        assert "There is no task at this address" in parse(response).text_content()


def test_a_signature_holds_for_one_hit_only(client: Client, campaign: Campaign) -> None:
    first, second = make_hit(campaign), make_hit(campaign, real=[("a", "b", "c")])
    signature = hit_url(first.key).rpartition(":")[2]
    assert client.get(f"/hit/{second.key}:{signature}", ADAS).status_code == 404


def test_a_hit_that_was_deleted_is_not_found(client: Client) -> None:
    path = hit_url("gone-1").removeprefix("https://quorum.example.org")
    assert client.get(path).status_code == 404


def submit(hit: Hit, worker_id: str = "AADA", crowd_id: str = "3ADA") -> None:
    worker = Worker.objects.create(crowd="mturk", worker_id=worker_id)
    Assignment.objects.create(
        hit=hit,
        worker=worker,
        crowd_id=crowd_id,
        accepted_at=timezone.now(),
        submitted_at=timezone.now(),
        answers={},
    )


def test_an_assignment_that_was_submitted_says_so_and_lets_the_browser_forget_it(
    hit: Hit, visit: Open, client: Client
) -> None:
    submit(hit)
    response = visit(hit)
    assert response.status_code == 409
    page = parse(response)
    assert "This task is submitted" in page.text_content()
    assert page.xpath("//main/@data-done") == ["3ADA"]
    [script] = page.xpath("//script/@src")
    assert client.get(script).status_code == 200
    assert page.xpath("//form") == []


def test_anothers_assignment_of_the_hit_changes_nothing(hit: Hit, visit: Open) -> None:
    submit(hit, worker_id="ABOB", crowd_id="3BOB")
    assert visit(hit).status_code == 200


@pytest.mark.parametrize("over", [{"closed_at": datetime(2026, 11, 1, tzinfo=UTC)}, {"gone": True}])
@pytest.mark.parametrize("parameters", [{}, ADAS])
def test_a_hit_that_is_over_says_so_before_the_work(
    hit: Hit, visit: Open, over: dict[str, object], parameters: dict[str, str]
) -> None:
    Hit.objects.filter(pk=hit.pk).update(**over)
    response = visit(hit, parameters)
    assert response.status_code == 410
    assert "This task is over" in parse(response).text_content()
    assert parse(response).xpath("//form") == []


def test_of_a_cancelled_campaign_only_what_is_in_hand_can_be_finished(
    hit: Hit, visit: Open
) -> None:
    Campaign.objects.update(state=Campaign.State.CANCELLED)
    assert visit(hit, {}).status_code == 410
    response = visit(hit)
    assert response.status_code == 200
    assert "Work that you submit now is still reviewed and paid." in parse(response).text_content()


def test_who_knows_a_triplet_from_another_hit_reads_it_before_the_work(
    campaign: Campaign, hit: Hit, visit: Open
) -> None:
    again = make_hit(campaign, real=[("who wrote it", "who is the author", "Eliot.")])
    [item] = again.items.filter(triplet__candidate__query__text="who wrote it")
    HitItem.objects.filter(pk=item.pk).update(triplet=hit.items.exclude(triplet=None)[0].triplet)
    submit(hit)
    response = visit(again, ADAS | {"assignmentId": "3OTHER"})
    assert response.status_code == 403
    assert "You have judged some of these questions before" in parse(response).text_content()


@pytest.fixture
def eve(campaign: Campaign) -> Worker:
    worker = Worker.objects.create(crowd="mturk", worker_id="AEVE")
    Exclusion.objects.create(campaign=campaign, worker=worker, failures=2, reviewed=10)
    return worker


def test_an_excluded_worker_reads_why_instead_of_the_form(
    hit: Hit, eve: Worker, visit: Open
) -> None:
    response = visit(hit, ADAS | {"workerId": eve.worker_id})
    assert response.status_code == 403
    assert parse(response).xpath("//form") == []
    assert "2 of your first 10 tasks failed" in parse(response).text_content()


def test_an_exclusion_holds_in_its_own_campaign_only(eve: Worker, visit: Open) -> None:
    elsewhere = make_hit(make_campaign("other"))
    assert visit(elsewhere, ADAS | {"workerId": eve.worker_id}).status_code == 200


@pytest.mark.parametrize("worker_id", ["AADA", "", "A\x00", "x" * 5000, "' OR 1=1 --"])
def test_every_other_worker_gets_the_form(
    hit: Hit, eve: Worker, visit: Open, worker_id: str
) -> None:
    assert visit(hit, ADAS | {"workerId": worker_id}).status_code == 200


def test_the_page_sets_no_cookie_and_writes_nothing(hit: Hit, visit: Open) -> None:
    with CaptureQueriesContext(connection) as queries:
        response = visit(hit)
    assert not response.cookies
    assert "Cookie" not in response.get("Vary", "")
    assert len(queries) <= 5
    assert all(query["sql"].startswith("SELECT") for query in queries)


def test_every_item_count_costs_the_same_queries(campaign: Campaign, visit: Open) -> None:
    real = [(f"query {number}", f"question {number}", "answer") for number in range(40)]
    hit = make_hit(campaign, real=real)
    with CaptureQueriesContext(connection) as queries:
        page = parse(visit(hit))
    assert len(page.find_class("query")) == 42
    assert len(queries) <= 5


def directives(response: Response) -> dict[str, list[str]]:
    rules = [rule.split() for rule in response["Content-Security-Policy"].split(";")]
    return {name: values for name, *values in rules}


def test_the_headers_let_the_crowd_frame_the_page_and_nobody_else(hit: Hit, visit: Open) -> None:
    response = visit(hit)
    rules = directives(response)
    assert rules["default-src"] == rules["base-uri"] == ["'none'"]
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == ["'self'"]
    assert rules["form-action"] == [EMULATOR]
    assert {EMULATOR, "https://worker.mturk.com", "https://workersandbox.mturk.com"} <= set(
        rules["frame-ancestors"]
    )
    assert "X-Frame-Options" not in response
    assert response["Cache-Control"] == "no-store"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Referrer-Policy"] == "strict-origin"


def test_refusals_too_can_be_read_in_the_frame(hit: Hit, visit: Open) -> None:
    response = visit(hit, {"assignmentId": "<>"})
    assert "X-Frame-Options" not in response
    assert directives(response)["form-action"] == ["'none'"]


def test_only_reading_is_allowed(client: Client, hit: Hit) -> None:
    path = hit_url(hit.key).removeprefix("https://quorum.example.org")
    assert client.post(path, {"assignmentId": "3ADA"}).status_code == 405


ATTACKS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</fieldset></form><form action=//evil.example>",
    "{{ 7|add:7 }}{% now %}",
    "&lt;b&gt; &amp; ]]> -->",
    "\u202egnp.exe",
)


def test_every_text_is_shown_as_it_is(campaign: Campaign, visit: Open) -> None:
    real = [(attack, f"? {attack}", f"! {attack}") for attack in ATTACKS[:5]]
    attack = ATTACKS[5]
    page = parse(visit(make_hit(campaign, real=real, positive=(attack, attack + "?", attack))))
    assert [list(row) for row in real] == [
        texts for number, texts in enumerate(shown_texts(page)) if number not in {2, 5}
    ]
    assert len(page.xpath("//form")) == 1
    assert page.xpath("//script[not(@src)] | //img | //@onerror") == []
    assert all(element.get("dir") == "auto" for name in TEXTS for element in page.find_class(name))


def test_a_text_of_100_000_characters_is_shown_whole(campaign: Campaign, visit: Open) -> None:
    long = "x" * 100_000
    page = parse(visit(make_hit(campaign, real=[(long, f"{long}?", long)])))
    assert shown_texts(page)[0] == [long, f"{long}?", long]


def marked(page: HtmlElement, name: str) -> list[list[str]]:
    return [[mark.text_content() for mark in text] for text in page.find_class(name)]


def test_the_words_that_make_the_difference_are_marked_where_the_policy_says_so(
    campaign: Campaign, visit: Open
) -> None:
    near = "How do I change my watch's strap?", "how do i change my watch's battery", "Press it."
    hit = make_hit(campaign, real=[near])
    assert marked(parse(visit(hit)), "query")[0] == []
    campaign.policy_data["mark_differences"] = True
    campaign.save()
    page = parse(visit(hit))
    assert marked(page, "query")[0] == ["strap"]
    assert marked(page, "question")[0] == ["battery"]
    assert page.xpath("//mark[ancestor::*[@class='answer']]") == []


def test_long_answers_are_folded_and_stay_whole(campaign: Campaign, visit: Open) -> None:
    long = "Step by step. " * 60
    page = parse(visit(make_hit(campaign, real=[("a", "b", long), ("c", "d", "short")])))
    folded, *others = page.xpath("//fieldset/dl/dd[3]")
    assert [more.text_content() for more in folded.find_class("more")] == ["Show all"]
    assert folded.find_class("answer")[0].text_content() == long
    assert all(other.find_class("fold") == [] for other in others)


def test_many_short_lines_are_folded_too(campaign: Campaign, visit: Open) -> None:
    page = parse(visit(make_hit(campaign, real=[("a", "b", "one\n" * 12)])))
    assert len(page.find_class("fold")) == 1


def test_what_the_page_records_stands_on_it(hit: Hit, visit: Open) -> None:
    sentence = "your answers, the time per item, changed answers"
    for parameters in ({}, ADAS):
        assert sentence in parse(visit(hit, parameters)).get_element_by_id("guide").text_content()


def test_each_item_can_be_reported_for_one_of_the_reasons(hit: Hit, visit: Open) -> None:
    for fieldset in parse(visit(hit)).xpath("//fieldset[@data-item]"):
        key = fieldset.get("data-item")
        [reason] = fieldset.xpath(".//select")
        assert reason.get("name") == f"report-{key}"
        values = ["", "unclear", "knowledge", "offensive", "personal", "language", "other"]
        assert reason.xpath("option/@value") == values
        [text] = fieldset.xpath(".//textarea")
        assert (text.get("name"), text.get("maxlength")) == (f"report-text-{key}", "500")


def test_the_instructions_in_force_for_the_hit_are_shown(hit: Hit, visit: Open) -> None:
    hit.campaign.instructions.create(version=2, text="Newer words.")
    page = parse(visit(hit))
    assert "Both ask the same." in page.get_element_by_id("guide").text_content()
    assert "Newer words." not in page.text_content()


def test_the_page_loads_its_own_files_alone(hit: Hit, visit: Open, client: Client) -> None:
    addresses = parse(visit(hit)).xpath("//link/@href | //script/@src | //@src")
    assert len(addresses) >= 3
    for address in set(addresses):
        assert address.startswith("/static/annotation/")
        assert client.get(address).status_code == 200


@pytest.mark.slow
def test_while_the_database_is_down_the_page_asks_for_patience(visit: Open, hit: Hit) -> None:
    def refuse(*_: object) -> None:
        raise OperationalError("gone")

    with connection.execute_wrapper(refuse):
        response = visit(hit)
    assert (response.status_code, response["Retry-After"]) == (503, "60")
    assert "keep the task open and reload it in a minute." in response.content.decode()
    assert "frame-ancestors" in response["Content-Security-Policy"]
