import re
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from annotation.crowd.emulator.errors import RequestError
from annotation.crowd.emulator.question.answers import (
    NOT_XML,
    QUESTION_FORM_ANSWERS,
    answers_xml,
)
from annotation.crowd.emulator.question.document import EXTERNAL_QUESTION, MAX_BYTES
from annotation.crowd.emulator.state.questions import (
    ExternalQuestion,
    frame_url,
    parse_question,
)
from tests.annotation.crowd.emulator.turk import Turk, question, refusal

URL = "<ExternalURL>https://quorum.example/</ExternalURL>"
HEIGHT = "<FrameHeight>0</FrameHeight>"


def external(inside: str, namespace: str = EXTERNAL_QUESTION) -> str:
    return f'<ExternalQuestion xmlns="{namespace}">{inside}</ExternalQuestion>'


def test_a_question_holds_its_url_and_height() -> None:
    url = "https://quorum.example/hit/1?a=1&b=<2>"
    assert parse_question(question(url, 450)) == ExternalQuestion(url, 450)


@pytest.mark.parametrize(
    "xml",
    [
        f'<?xml version="1.0" encoding="UTF-8"?>\n{question()}',
        f'<?xml version="1.0" encoding="UTF-16"?>\n{question()}',
        f"<!-- a comment -->{question()}<!-- another -->",
        external(f"\n  {URL}\n  <!-- between -->\n  {HEIGHT}\n"),
        external(URL.replace("><", ">\n<") + HEIGHT),
    ],
)
def test_declarations_comments_and_white_space_are_fine(xml: str) -> None:
    assert parse_question(xml).url.startswith("https://quorum.example/")


ENTITY = f'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>{external(URL + HEIGHT)}'


@pytest.mark.parametrize(
    ("xml", "code"),
    [
        ("", "XMLParseError"),
        ("no xml", "XMLParseError"),
        ("<ExternalQuestion>", "XMLParseError"),
        (ENTITY, "XMLParseError"),
        (external("&e;"), "XMLParseError"),
        (external(URL + HEIGHT, "http://example.org/"), "XMLParseError"),
        (external(URL + HEIGHT, ""), "XMLParseError"),
        (external(URL), "XMLParseError"),
        (external(HEIGHT), "XMLParseError"),
        (external(HEIGHT + URL), "XMLParseError"),
        (external(URL + URL + HEIGHT), "XMLParseError"),
        (external(URL + HEIGHT + "<More/>"), "XMLParseError"),
        (external(f"<ExternalURL><b>x</b></ExternalURL>{HEIGHT}"), "XMLParseError"),
        (external(f"<ExternalURL/>{HEIGHT}"), "InvalidParameterValue"),
        (external(f"<ExternalURL>javascript:alert(1)</ExternalURL>{HEIGHT}"), "Invalid"),
        (external(f"<ExternalURL>ftp://quorum.example/</ExternalURL>{HEIGHT}"), "Invalid"),
        (external(f"<ExternalURL>https:///path</ExternalURL>{HEIGHT}"), "Invalid"),
        (external(f"<ExternalURL>https://[bad/</ExternalURL>{HEIGHT}"), "Invalid"),
        (external(f"<ExternalURL>https://a.example/ b</ExternalURL>{HEIGHT}"), "Invalid"),
        (external(URL + "<FrameHeight>-1</FrameHeight>"), "InvalidParameterValue"),
        (external(URL + "<FrameHeight>tall</FrameHeight>"), "InvalidParameterValue"),
        (external(URL + "<FrameHeight>\u0661</FrameHeight>"), "InvalidParameterValue"),
        (external(URL + "<FrameHeight/>"), "InvalidParameterValue"),
        (external(URL + HEIGHT) + " " * MAX_BYTES, "InvalidParameterValue"),
        ('<HTMLQuestion xmlns="http://x"/>', "XMLParseError"),
        ('<QuestionForm xmlns="http://x"/>', "XMLParseError"),
    ],
)
def test_another_question_is_refused(xml: str, code: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse_question(xml)
    assert caught.value.code.startswith(f"AWS.MechanicalTurk.{code}")


def test_a_question_may_be_65535_bytes_and_no_more() -> None:
    padding = MAX_BYTES - len(question().encode())
    full = f"{question()}{' ' * padding}"
    assert parse_question(full).frame_height == 600
    with pytest.raises(RequestError, match="larger than 65535 bytes"):
        parse_question(f"{full} ")
    umlauts = "<!--" + "\u00fc" * (padding // 2) + "-->" + question()  # two bytes each
    with pytest.raises(RequestError, match="larger than 65535 bytes"):
        parse_question(umlauts)


def test_the_wire_refuses_a_bad_question_in_mturks_shape(turk: Turk) -> None:
    code, message = refusal(
        turk.api.create_hit_with_hit_type,
        HITTypeId=turk.hit_type(),
        LifetimeInSeconds=60,
        Question="<open>",
    )
    assert code == "XMLParseError"
    assert "not well-formed" in message


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://q.example/hit", "https://q.example/hit?assignmentId=A+1&hitId=%26"),
        ("https://q.example", "https://q.example?assignmentId=A+1&hitId=%26"),
        ("https://q.example/?x=1", "https://q.example/?x=1&assignmentId=A+1&hitId=%26"),
        (
            "https://q.example/?x=a%26b#end",
            "https://q.example/?x=a%26b&assignmentId=A+1&hitId=%26#end",
        ),
    ],
)
def test_mturks_parameters_follow_those_of_the_url(url: str, expected: str) -> None:
    assert frame_url(url, [("assignmentId", "A 1"), ("hitId", "&")]) == expected


@given(st.lists(st.tuples(st.text(min_size=1), st.text())))
def test_any_answer_survives_the_xml(fields: list[tuple[str, str]]) -> None:
    root = etree.fromstring(answers_xml(fields).encode())
    assert root.tag == f"{{{QUESTION_FORM_ANSWERS}}}QuestionFormAnswers"
    found = [tuple(child.text or "" for child in answer) for answer in root]
    assert found == [tuple(re.sub(NOT_XML, "\ufffd", text) for text in pair) for pair in fields]


@given(st.text(alphabet="ab&=?#%/+\u00e9"), st.text())
def test_parameters_can_always_be_read_back(path: str, value: str) -> None:
    url = frame_url(f"https://q.example/{path}", [("workerId", value)])
    read = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    assert read[-1] == ("workerId", value)
