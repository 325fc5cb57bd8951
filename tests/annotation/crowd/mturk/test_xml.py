"""The XML that goes to MTurk and comes back from workers, whom nobody trusts."""

import re
from pathlib import Path

import pytest

from annotation.crowd.mturk.xml import MAX_QUESTION_BYTES, external_question, read_answers
from annotation.crowd.port import CrowdError

NAMESPACE = (
    "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/"
    "QuestionFormAnswers.xsd"
)


def document(*fields: tuple[str, str], declaration: str = "") -> str:
    answers = "".join(
        f"<Answer><QuestionIdentifier>{name}</QuestionIdentifier><FreeText>{value}</FreeText>"
        "</Answer>"
        for name, value in fields
    )
    root = f'<QuestionFormAnswers xmlns="{NAMESPACE}">{answers}</QuestionFormAnswers>'
    return declaration + root


def test_the_url_is_escaped_and_the_frame_fits_the_window() -> None:
    xml = external_question('https://quorum.example.org/hit/s?a=1&b="<x>"')
    assert '?a=1&amp;b="&lt;x&gt;"</ExternalURL><FrameHeight>0</FrameHeight>' in xml


def test_a_question_of_exactly_the_most_bytes_passes_and_one_more_does_not() -> None:
    room = MAX_QUESTION_BYTES - len(external_question("é").encode())
    assert len(external_question("é" + "x" * room).encode()) == MAX_QUESTION_BYTES
    with pytest.raises(CrowdError, match="65,536 bytes"):
        external_question("é" + "x" * (room + 1))


def test_a_control_character_makes_no_url() -> None:
    with pytest.raises(CrowdError, match=re.escape(r"'https://a\x00'")):
        external_question("https://a\x00")


def test_fields_and_values_are_unescaped() -> None:
    xml = document(("item-&lt;1&gt;", "1 &amp; &#1103;\n 中"), ("item-2", ""))
    assert read_answers(xml) == {"item-<1>": "1 & я\n 中", "item-2": ""}


def test_no_answers_are_no_error() -> None:
    assert read_answers(document()) == {}


def test_a_declared_encoding_does_not_matter_once_decoded() -> None:
    declaration = '<?xml version="1.0" encoding="ASCII"?>\n'
    assert read_answers(document(("item-1", "中é"), declaration=declaration)) == {"item-1": "中é"}


def test_a_field_sent_twice_keeps_both_values() -> None:
    assert read_answers(document(("item-1", "1"), ("item-1", "0"))) == {"item-1": "1|0"}


def test_choices_are_read_and_what_is_written_beside_them() -> None:
    answer = (
        "<Answer><QuestionIdentifier>q</QuestionIdentifier><SelectionIdentifier>red"
        "</SelectionIdentifier><SelectionIdentifier>blue</SelectionIdentifier>"
        "<OtherSelectionText>dark &amp; cold</OtherSelectionText></Answer>"
    )
    xml = document(("note", "none")).replace("</QuestionForm", f"{answer}</QuestionForm")
    assert read_answers(xml) == {"note": "none", "q": "red|blue|dark & cold"}


@pytest.mark.parametrize("character", ["&#0;", "\x00", "\ud800", "&unknown;"])
def test_what_xml_cannot_hold_does_not_hide_the_other_answers(character: str) -> None:
    assert read_answers(document(("item-1", f"a{character}"), ("item-2", "0")))["item-2"] == "0"


def test_an_entity_cannot_read_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    declaration = f'<!DOCTYPE q [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
    with pytest.raises(ValueError, match="document type"):
        read_answers(document(("item-1", "&e;"), declaration=declaration))


def test_entities_do_not_multiply() -> None:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    declaration = f'<!DOCTYPE q [<!ENTITY e0 "laugh">{entities}]>'
    with pytest.raises(ValueError, match="document type"):
        read_answers(document(("item-1", "&e11;"), declaration=declaration))


@pytest.mark.parametrize("xml", ["", "item-1=1", "<html/>", "\x00", "<QuestionFormAnswer/>"])
def test_what_is_no_document_of_answers_is_refused(xml: str) -> None:
    with pytest.raises(ValueError):
        read_answers(xml)
