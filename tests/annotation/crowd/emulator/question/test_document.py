"""XML that nobody trusts: what is read, what is refused, and in which sentence."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.crowd.emulator.errors import RequestError
from annotation.crowd.emulator.question.document import (
    MAX_BYTES,
    NAMESPACES,
    SCHEMAS,
)
from annotation.crowd.emulator.question.form import read_form
from annotation.crowd.emulator.state.questions import HTMLQuestion, parse_question
from tests.annotation.crowd.emulator.forms import (
    asked,
    choice,
    free_text,
    html_question,
    overview,
    question_form,
)

PAGE = "<!DOCTYPE html>\n<html><body>caf\u00e9 &amp; more</body></html>"
LAUGHS = "".join(f'<!ENTITY {name} "{f"&{inner};" * 10}">' for inner, name in pairwise("abcdefgh"))
BOMB = f'<!DOCTYPE x [<!ENTITY a "lol">{LAUGHS}]>'


def refused(xml: str) -> tuple[str, str]:
    with pytest.raises(RequestError) as caught:
        parse_question(xml)
    return caught.value.code.removeprefix("AWS.MechanicalTurk."), str(caught.value)


@pytest.mark.parametrize("year", ["2005-10-01", "2017-11-06"])
def test_both_schemas_of_forms_are_read(year: str) -> None:
    form = read_form(question_form(asked("q1"), f"{SCHEMAS}/{year}/QuestionForm.xsd"), "Question")
    assert [each.identifier for each in form.questions] == ["q1"]


def test_a_page_of_html_keeps_every_character() -> None:
    assert parse_question(html_question(PAGE, 7)) == HTMLQuestion(PAGE, 7)


@pytest.mark.parametrize(
    "xml",
    [
        f"{BOMB}{question_form(asked('&h;'))}",
        f'<!DOCTYPE x SYSTEM "http://evil.example/x.dtd">{question_form(asked("q"))}',
        '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>' + question_form(asked("&e;")),
        f"<!DOCTYPE QuestionForm>{question_form(asked('q'))}",
    ],
)
def test_a_document_type_is_refused_before_it_does_anything(xml: str) -> None:
    code, message = refused(xml)
    assert code == "XMLParseError"
    assert "root:" not in message
    assert len(message) <= 300


@pytest.mark.parametrize(
    ("xml", "part"),
    [
        (question_form(""), "Missing child element"),
        (question_form(overview("<Text>t</Text>")), "Expected is one of ( Overview, Question )"),
        (question_form(asked("")), "QuestionIdentifier"),
        (question_form(asked("a") + asked("a")), "Duplicate key-sequence"),
        (question_form(asked("a", content="")), "Missing child element"),
        (question_form(asked("a", content="text")), "Character content"),
        (question_form(asked("a", "<Essay/>")), "Essay"),
        (question_form(asked("a", free_text('<Length minLength="-1"/>'))), "minLength"),
        (question_form(asked("a", free_text('<IsNumeric minValue="x"/>'))), "minValue"),
        (question_form(asked("a", free_text("<AnswerFormatRegex/>"))), "regex"),
        (question_form(asked("a", choice("x", "x"))), "Duplicate key-sequence"),
        (question_form(asked("a", choice("x", style="slider"))), "slider"),
        (question_form(asked("a", choice("x", low=2))), "MinSelectionCount"),
        (question_form(asked("a", choice("x", high=2))), "MaxSelectionCount"),
        (question_form(asked("a", choice("x", low=0, high=0))), "MaxSelectionCount"),
        (question_form(asked("a").replace("<Text>", '<Text xmlns="urn:x">')), "namespace"),
        (question_form(asked("a"), "urn:x"), "root must be"),
        (html_question("   "), "HTMLContent"),
    ],
)
def test_what_breaks_the_schema_is_refused_in_one_sentence(xml: str, part: str) -> None:
    code, message = refused(xml)
    assert code == "XMLParseError"
    assert message.startswith("Question does not follow its schema: ")
    assert part in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "regex", ["(", "[", "(?P<", "(a{10000}){10000}", "((a{999}){999,}){999}", "(" * 9999]
)
def test_a_pattern_that_could_not_be_looked_for_is_refused(regex: str) -> None:
    constraint = f'<AnswerFormatRegex regex="{regex.replace("<", "&lt;")}"/>'
    code, message = refused(question_form(asked("a", free_text(constraint))))
    assert code == "XMLParseError"
    assert "AnswerFormatRegex" in message


UPLOAD = (
    "<FileUploadAnswer><MaxFileSizeInBytes>9</MaxFileSizeInBytes>"
    "<MinFileSizeInBytes>1</MinFileSizeInBytes></FileUploadAnswer>"
)
FLASH = "<Application><Flash><FlashMovieURL>http://x</FlashMovieURL></Flash></Application>"


@pytest.mark.parametrize(
    ("xml", "what"),
    [
        (question_form(asked("a", UPLOAD)), "FileUploadAnswer"),
        (question_form(asked("a", content=FLASH)), "Application"),
    ],
)
def test_what_mturk_dropped_is_not_supported(xml: str, what: str) -> None:
    expected = f"{what} in a Question is not supported here."
    assert refused(xml) == ("NotSupported", expected)


@pytest.mark.parametrize(
    "url", ["", "x.gif", "javascript:alert(1)", "ftp://x.example/", "http://["]
)
def test_media_come_from_the_web(url: str) -> None:
    binary = (
        f"<Binary><MimeType><Type>image</Type></MimeType><DataURL>{url}</DataURL>"
        "<AltText>a</AltText></Binary>"
    )
    code, message = refused(question_form(asked("a", content=binary)))
    assert code == "InvalidParameterValue"
    assert "DataURL" in message


def test_a_form_may_be_65535_bytes_and_no_more() -> None:
    xml = question_form(asked("a"))
    full = xml + " " * (MAX_BYTES - len(xml))
    assert parse_question(full)
    assert refused(f"{full} ")[0] == "InvalidParameterValue"


ELEMENTS = st.sampled_from(
    ["Overview", "Question", "QuestionContent", "Text", "AnswerSpecification", "SelectionAnswer",
     "Selections", "QuestionIdentifier", "FreeTextAnswer", "IsRequired", "script"]
)  # fmt: skip
TREES = st.recursive(
    st.text(alphabet="ab1 &;<>", max_size=5).map(lambda text: text.replace("<", "&lt;")),
    lambda inner: st.tuples(ELEMENTS, st.lists(inner, max_size=4)).map(
        lambda node: f"<{node[0]}>{''.join(node[1])}</{node[0]}>"
    ),
    max_leaves=12,
)


def outcome(xml: str) -> str:
    try:
        return type(parse_question(xml)).__name__
    except RequestError as error:
        return str(error)


@given(st.sampled_from(sorted(NAMESPACES)), TREES)
def test_whatever_is_sent_is_read_or_refused_in_one_line(root: str, inside: str) -> None:
    xml = f'<{root} xmlns="{NAMESPACES[root][0]}">{inside}</{root}>'
    assert outcome(xml).count("\n") == 0
