"""The question of a HIT on the worker's page: a form of ours, or a page in an origin of its own."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from lxml import etree

from annotation.crowd.emulator.question.html_page import SANDBOX
from tests.annotation.crowd.emulator.forms import (
    asked,
    choice,
    free_text,
    html_question,
    overview,
    question_form,
)
from tests.annotation.crowd.emulator.turk import Turk, Worker, parsed

HOSTILE = "&lt;script&gt;alert('x')&lt;/script&gt;\"&gt;"
PICTURE = (
    "<Binary><MimeType><Type>{}</Type></MimeType><DataURL>https://x.example/a?b&amp;c</DataURL>"
    "<AltText>The board</AltText></Binary>"
)
FORM = question_form(
    overview(
        "<Title>Game 1</Title><Text>X moves</Text><List><ListItem>one</ListItem></List>"
        "<FormattedContent><![CDATA[<b>bold</b>]]></FormattedContent>"
        + "".join(PICTURE.format(kind) for kind in ("image", "audio", "video"))
    )
    + asked("move", free_text('<Length maxLength="2"/>'), name="The move", required=True)
    + asked("likely", choice("no", "yes", other="<OtherSelection/>"))
    + asked(
        "why",
        "<FreeTextAnswer><NumberOfLinesSuggestion>4</NumberOfLinesSuggestion></FreeTextAnswer>",
    )
)
PAGE = """<!DOCTYPE html>
<html><head>
<script src='https://s3.amazonaws.com/mturk-public/externalHIT_v1.js'></script></head>
<body><form method='post' id='mturk_form' action='https://www.mturk.com/mturk/externalSubmit'>
<input type='hidden' name='assignmentId' id='assignmentId' value=''>
<textarea name='comment'></textarea><input type='submit' id='submitButton'></form>
<script>turkSetAssignmentID();</script></body></html>"""


def open_form(worker: Worker, hit_id: str) -> tuple[str, Any]:
    """The assignment, and the form of its page."""
    assignment_id = worker.take(hit_id)
    page = parsed(worker.open(assignment_id).text)
    (form,) = (form for form in page.forms if "question-form" in form.classes)
    return assignment_id, form


def answers(turk: Turk, hit_id: str) -> list[list[str | None]]:
    (done,) = turk.assignments(hit_id)
    return [[part.text for part in each] for each in etree.fromstring(done["Answer"].encode())]


def test_a_form_is_filled_in_and_submitted(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit(Question=FORM)
    assignment_id, form = open_form(ada, hit_id)
    assert dict(form.form_values()) == {
        "assignmentId": assignment_id,
        "answer-1": "",
        "answer-2-other": "",
        "answer-3": "",
    }
    fields = dict(form.form_values()) | {"answer-1": "C3", "answer-2": "yes"}
    response = ada.browser.post(form.action, data=fields)
    assert response.status_code == 200
    assert answers(turk, hit_id) == [["move", "C3"], ["likely", "yes"], ["why", None]]


def test_a_form_shows_what_it_holds(turk: Turk, ada: Worker) -> None:
    _, form = open_form(ada, turk.hit(Question=FORM))
    text = form.text_content()
    for part in ("Game 1", "X moves", "one", "The move", "What is it?", "Choose no", "Choose yes"):
        assert part in text
    assert form.xpath("//b/text()") == ["bold"]
    assert form.xpath("//img/@src") == ["https://x.example/a?b&c"]
    assert form.xpath("//img/@alt") == ["The board"]
    assert form.xpath("//audio/@aria-label | //video/@aria-label") == ["The board"] * 2
    assert form.xpath("//textarea/@rows") == ["4"]
    assert form.xpath("//input[@name='answer-1']/@maxlength") == ["2"]
    assert form.xpath("//input[@required]/@name") == ["answer-1"]


def test_a_wrong_form_comes_back_and_nothing_is_submitted(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit(Question=FORM)
    assignment_id, form = open_form(ada, hit_id)
    given = {"assignmentId": assignment_id, "answer-1": "C33<", "answer-2": "yes"}
    response = ada.browser.post(form.action, data=given)
    assert response.status_code == 400
    page = parsed(response.text)
    (fault,) = page.xpath("//fieldset//p[@class='fault']")
    assert fault.text_content() == "Write at most 2 characters."
    assert page.xpath("//input[@name='answer-1']/@value") == ["C33<"]
    assert page.xpath("//input[@checked]/@value") == ["yes"]
    assert "1 question needs another look" in page.text_content()
    assert turk.counts(hit_id) == ("Unassignable", 1, 0, 0)
    assert ada.browser.post(form.action, data=given | {"answer-1": "C3"}).status_code == 200


def test_a_form_of_an_assignment_that_is_gone_is_refused(turk: Turk, ada: Worker) -> None:
    assignment_id, form = open_form(ada, turk.hit(Question=FORM))
    ada.give_back(assignment_id)
    given = {"assignmentId": assignment_id, "answer-1": "C33"}
    assert ada.browser.post(form.action, data=given).status_code == 409


def test_a_preview_of_a_form_cannot_be_filled_in(turk: Turk, ada: Worker) -> None:
    page = parsed(ada.preview(turk.hit(Question=FORM)).text)
    (fields,) = page.xpath("//fieldset[@disabled]")
    assert fields.xpath(".//input[@name='answer-1']")
    assert not fields.xpath(".//button")
    assert [form.action.rsplit("/", 1)[1] for form in page.forms] == ["accept"]


@pytest.mark.parametrize(
    ("style", "high", "expected"),
    [
        ("radiobutton", 1, "//input[@type='radio']"),
        ("radiobutton", 2, "//input[@type='checkbox']"),
        ("checkbox", 1, "//input[@type='checkbox']"),
        ("checkbox", 2, "//input[@type='checkbox']"),
        ("dropdown", 1, "//select[not(@multiple) and not(@size)]/option[@value!='']"),
        ("list", 1, "//select[not(@multiple) and @size]/option[@value!='']"),
        ("combobox", 1, "//select[not(@multiple)]/option[@value!='']"),
        ("list", 2, "//select[@multiple]/option"),
        ("multichooser", 2, "//select[@multiple]/option"),
    ],
)
def test_each_style_of_a_choice_offers_all_selections(
    turk: Turk, ada: Worker, style: str, high: int, expected: str
) -> None:
    asks = question_form(asked("q", choice("a", "b", style=style, high=high)))
    _, form = open_form(ada, turk.hit(Question=asks))
    assert [each.get("value") for each in form.xpath(expected)] == ["a", "b"]


def test_pictures_can_be_chosen_whatever_the_style(turk: Turk, ada: Worker) -> None:
    asks = choice("a", style="dropdown").replace("<Text>Choose a</Text>", PICTURE.format("image"))
    _, form = open_form(ada, turk.hit(Question=question_form(asked("q", asks))))
    assert form.xpath("//label[input[@type='radio']]/img/@alt") == ["The board"]


def test_hostile_forms_are_escaped(turk: Turk, ada: Worker) -> None:
    shown = (
        f"<Title>{HOSTILE}</Title><Text>{HOSTILE}</Text><List><ListItem>{HOSTILE}</ListItem></List>"
    )
    selection = choice(HOSTILE, other="<OtherSelection/>", style="dropdown")
    default = (
        f"<FreeTextAnswer><DefaultText>{HOSTILE}&lt;/textarea&gt;</DefaultText></FreeTextAnswer>"
    )
    asks = question_form(
        overview(shown)
        + asked(HOSTILE, selection, name=HOSTILE)
        + asked("b", choice(HOSTILE))
        + asked("c", default)
    )
    hit_id = turk.hit(Question=asks)
    page = ada.open(ada.take(hit_id))
    assert "alert(" in page.text
    assert parsed(page.text).xpath("//script") == []
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "img-src http: https:" in policy
    assert "script-src" not in policy


def test_a_page_of_a_requester_has_an_origin_of_its_own(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit(Question=html_question(PAGE))
    assignment_id = ada.take(hit_id)
    outside = ada.open(assignment_id)
    (frame,) = parsed(outside.text).xpath("//iframe")
    assert frame.get("sandbox") == SANDBOX
    assert frame.get("height") == "450"
    assert dict(parse_qsl(urlsplit(frame.get("src")).query)) == {
        "assignmentId": assignment_id,
        "hitId": hit_id,
        "workerId": "AADA",
        "turkSubmitTo": turk.url,
    }
    inside = ada.browser.get(frame.get("src"))
    assert inside.headers["Content-Security-Policy"] == f"sandbox {SANDBOX}"
    assert "allow-same-origin" not in SANDBOX
    page = parsed(inside.text)
    assert page.forms[0].action == f"{turk.url}/mturk/externalSubmit"
    script = ada.browser.get(page.xpath("//script/@src")[0])
    assert script.headers["Content-Type"].startswith("text/javascript")
    assert "function turkSetAssignmentID" in script.text
    done = ada.browser.post(
        page.forms[0].action, data={"assignmentId": assignment_id, "comment": "fine"}
    )
    assert done.status_code == 200
    assert parsed(done.text).xpath("//main//a") == []  # it could not leave its frame
    assert answers(turk, hit_id) == [["comment", "fine"]]


def test_only_pages_of_requesters_are_served_in_that_origin(turk: Turk, ada: Worker) -> None:
    for hit_id in (turk.hit(), turk.hit(Question=FORM), "NOSUCH"):
        assert ada.browser.get(f"/question/{hit_id}").status_code == 404


def test_a_preview_of_a_page_names_nobody(turk: Turk, ada: Worker) -> None:
    page = parsed(ada.preview(turk.hit(Question=html_question(PAGE))).text)
    query = dict(parse_qsl(urlsplit(page.xpath("//iframe/@src")[0]).query))
    assert query["assignmentId"] == "ASSIGNMENT_ID_NOT_AVAILABLE"
    assert "workerId" not in query
