"""What a worker entered: each rule of a form, by hand-checked tables."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from annotation.crowd.emulator.question.answers import QUESTION_FORM_ANSWERS, read_reply
from annotation.crowd.emulator.question.form import Form, read_form
from tests.annotation.crowd.emulator.forms import asked, choice, free_text, overview, question_form

MISSING = "This question needs an answer."


def form(answer: str, *, required: bool = False) -> Form:
    return read_form(question_form(asked("q", answer, required=required)), "Question")


def fault(asks: Form, *values: str, other: str = "") -> str | None:
    fields = [("answer-0", value) for value in values] + [("answer-0-other", other)] * bool(other)
    return read_reply(asks, fields).faults.get("answer-0")


def pattern(regex: str, **attributes: str) -> str:
    more = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return free_text(f'<AnswerFormatRegex regex="{regex}"{more}/>')


NUMBER = "<IsNumeric/>"
RANGE = '<IsNumeric minValue="100" maxValue="999"/>'
LENGTH = '<Length minLength="2" maxLength="3"/>'
UNLIKE = "This is not in the form that is asked for."


@pytest.mark.parametrize(
    ("answer", "entered", "expected"),
    [
        (free_text(), "", None),
        (free_text(), "\0 anything <b>", None),
        (free_text(NUMBER), "", None),
        (free_text(NUMBER), "-1.5", None),
        (free_text(NUMBER), " 7 ", None),
        (free_text(NUMBER), "seven", "Enter a number."),
        (free_text(NUMBER), "nan", "Enter a number."),
        (free_text(NUMBER), "\u0667", "Enter a number."),
        (free_text(NUMBER), "1e9", "Enter a number."),
        (free_text(RANGE), "100", None),
        (free_text(RANGE), "999", None),
        (free_text(RANGE), "99.9", "Enter a number of at least 100 and at most 999."),
        (free_text(RANGE), "1000", "Enter a number of at least 100 and at most 999."),
        (free_text('<IsNumeric minValue="0.5"/>'), "0", "Enter a number of at least 0.5."),
        (free_text(LENGTH), "ab", None),
        (free_text(LENGTH), "", "Write at least 2 characters."),
        (free_text(LENGTH), "abcd", "Write at most 3 characters."),
        (free_text(LENGTH), "a\r\nb", None),
        (free_text('<Length minLength="1"/>'), "", "Write at least 1 character."),
        (pattern("^[12][0-9]{3}-[01]?\\d-[0-3]?\\d$"), "2026-11-28", None),
        (pattern("^[12][0-9]{3}-[01]?\\d-[0-3]?\\d$"), "28.11.2026", UNLIKE),
        (pattern("(^$|\\S{2,})"), "", None),
        (pattern("(^$|\\S{2,})", errorText="Two letters."), "x", "Two letters."),
        (pattern("regex"), "a RegEx", UNLIKE),
        (pattern("regex", flags="i"), "a RegEx", None),
    ],
)
def test_free_text_keeps_its_constraints(answer: str, entered: str, expected: str | None) -> None:
    assert fault(form(answer), entered) == expected


@pytest.mark.parametrize(
    ("answer", "chosen", "expected"),
    [
        (choice("a", "b"), [], None),
        (choice("a", "b"), [""], None),
        (choice("a", "b"), ["b"], None),
        (choice("a", "b"), ["c"], "Choose among the answers that are offered."),
        (choice("a", "b"), ["a", "b"], "Choose at most 1."),
        (choice("a", "b"), ["a", "a"], None),
        (choice("a", "b", "c", low=2, high=3), ["a"], "Choose at least 2."),
        (choice("a", "b", "c", low=2, high=3), ["a", "c"], None),
        (choice("a", "b", "c", low=2, high=3), ["a", "b", "c"], None),
        (choice("a", "b", "c", low=2, high=3), [], None),
        (choice("a", low=0), [], None),
    ],
)
def test_a_choice_keeps_its_counts(answer: str, chosen: list[str], expected: str | None) -> None:
    assert fault(form(answer), *chosen) == expected


def test_what_is_not_in_the_list_is_an_answer_too() -> None:
    other = "<OtherSelection><Constraints><Length maxLength='3'/></Constraints></OtherSelection>"
    asks = form(choice("a", "b", other=other), required=True)
    assert fault(asks) == MISSING
    assert fault(asks, other="abc") is None
    assert fault(asks, "a", other="abc") == "Choose one answer or write another one, not both."
    assert fault(asks, other="abcd") == "Write at most 3 characters."
    two = form(choice("a", "b", low=2, high=2, other="<OtherSelection/>"))
    assert fault(two, "a", other="x") is None
    assert fault(two, other="x") == "Choose at least 2."


@pytest.mark.parametrize("answer", [free_text(), choice("a", "b"), choice("a", style="checkbox")])
@pytest.mark.parametrize("entered", [[], [""], ["  "]])
def test_a_required_answer_is_not_blank(answer: str, entered: list[str]) -> None:
    asks = form(answer, required=True)
    if entered == ["  "] and "Selection" in answer:
        assert fault(asks, *entered) == "Choose among the answers that are offered."
    else:
        assert fault(asks, *entered) == MISSING


def test_a_pattern_that_never_ends_keeps_nobody_waiting() -> None:
    asks = form(pattern("^(a|aa)+$"))
    before = time.monotonic()
    assert fault(asks, "a" * 5000 + "b") is None
    assert time.monotonic() - before < 5


def test_answers_come_in_the_order_of_the_questions() -> None:
    asks = read_form(
        question_form(
            overview("<Title>t</Title>")
            + asked("move")
            + asked("likely &lt;&amp;", choice("no", "yes", high=2, other="<OtherSelection/>"))
            + asked("none", choice("x"))
        ),
        "Question",
    )
    fields = [
        ("answer-2-other", "who & knows"), ("answer-2", "yes"), ("answer-2", "no"),
        ("answer-1", "C3\r\n<\ud800"), ("answer-3", ""), ("extra", "ignored"),
    ]  # fmt: skip
    reply = read_reply(asks, fields)
    assert not reply.faults
    assert reply.xml.partition("\n")[2] == (
        f'<QuestionFormAnswers xmlns="{QUESTION_FORM_ANSWERS}">'
        "<Answer><QuestionIdentifier>move</QuestionIdentifier>"
        "<FreeText>C3\n&lt;\ufffd</FreeText></Answer>"
        "<Answer><QuestionIdentifier>likely &lt;&amp;</QuestionIdentifier>"
        "<SelectionIdentifier>yes</SelectionIdentifier>"
        "<SelectionIdentifier>no</SelectionIdentifier>"
        "<OtherSelectionText>who &amp; knows</OtherSelectionText></Answer>"
        "<Answer><QuestionIdentifier>none</QuestionIdentifier></Answer></QuestionFormAnswers>"
    )


ASKS = read_form(
    question_form(
        asked("t", free_text(LENGTH), required=True)
        + asked("c", choice("a", "b", "c", low=2, high=2, style="checkbox"))
    ),
    "Question",
)
FIELDS = st.lists(
    st.tuples(st.sampled_from(["answer-0", "answer-1", "answer-1-other", "x"]), st.text(max_size=5))
    | st.tuples(st.just("answer-1"), st.sampled_from("abc"))
)


@given(FIELDS)
def test_whatever_is_posted_gives_xml_and_a_sentence_for_each_fault(
    fields: list[tuple[str, str]],
) -> None:
    reply = read_reply(ASKS, fields)
    root = etree.fromstring(reply.xml.encode())
    assert [answer[0].text for answer in root] == ["t", "c"]
    chosen = {value for name, value in fields if name == "answer-1" and value}
    assert ("answer-1" in reply.faults) == (
        bool(chosen) and (len(chosen) != 2 or not chosen <= set("abc"))
    )
    assert all(sentence.endswith(".") for sentence in reply.faults.values())
