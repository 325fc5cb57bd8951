"""The XML that goes in and out: ExternalQuestion from requesters, QuestionFormAnswers back."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit, urlunsplit
from xml.sax.saxutils import escape

from lxml import etree

from annotation.crowd.emulator.errors import RequestError, invalid, unsupported

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
EXTERNAL_QUESTION = f"{SCHEMAS}/2006-07-14/ExternalQuestion.xsd"
QUESTION_FORM_ANSWERS = f"{SCHEMAS}/2005-10-01/QuestionFormAnswers.xsd"
MAX_QUESTION_BYTES = 65_535
MAX_FRAME_HEIGHT = 100_000

# What XML 1.0 cannot hold, not even escaped.
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class ExternalQuestion:
    url: str
    frame_height: int  # pixels; 0: as high as the window allows


def parse_question(xml: str) -> ExternalQuestion:
    if len(xml.encode()) > MAX_QUESTION_BYTES:
        raise invalid(f"Question is larger than {MAX_QUESTION_BYTES} bytes.")
    root = _root(xml)
    name = etree.QName(root)
    if name.localname in ("QuestionForm", "HTMLQuestion"):
        raise unsupported(f"The question kind {name.localname}")
    if (name.namespace, name.localname) != (EXTERNAL_QUESTION, "ExternalQuestion"):
        raise _schema_fault(f"the root must be ExternalQuestion of {EXTERNAL_QUESTION}")
    children = [child.tag for child in root.iterchildren(tag=etree.Element)]
    wanted = [f"{{{EXTERNAL_QUESTION}}}{tag}" for tag in ("ExternalURL", "FrameHeight")]
    if children != wanted:
        raise _schema_fault("ExternalQuestion holds one ExternalURL, then one FrameHeight")
    url, height = (_text(child) for child in root.iterchildren(tag=etree.Element))
    return ExternalQuestion(_url(url), _frame_height(height))


def _root(xml: str) -> "etree._Element":
    # A document type is refused as a whole: it is the door to entities and outside files.
    if "<!DOCTYPE" in xml:
        raise _schema_fault("a DOCTYPE is not allowed")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, encoding="utf-8")
    try:
        return etree.fromstring(xml.encode(), parser)
    except etree.XMLSyntaxError as error:
        raise RequestError("XMLParseError", f"Question is not well-formed XML: {error}") from error


def _text(element: "etree._Element") -> str:
    if len(element):
        raise _schema_fault(f"{etree.QName(element).localname} holds text only")
    return (element.text or "").strip()


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        host = parts.hostname
    except ValueError as error:
        raise invalid(f"ExternalURL is not a URL: {error}.") from error
    if parts.scheme not in ("http", "https") or not host or re.search(r"\s", text):
        raise invalid("ExternalURL must be an http or https URL.")
    return text


def _frame_height(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) > MAX_FRAME_HEIGHT:
        raise invalid(f"FrameHeight must be an integer from 0 to {MAX_FRAME_HEIGHT}.")
    return int(text)


def _schema_fault(message: str) -> RequestError:
    return RequestError("XMLParseError", f"Question does not follow its schema: {message}.")


def frame_url(url: str, parameters: Sequence[tuple[str, str]]) -> str:
    """The question's URL with MTurk's parameters after those that it has."""
    parts = urlsplit(url)
    query = "&".join(filter(None, (parts.query, urlencode(parameters))))
    return urlunsplit(parts._replace(query=query))


def answers_xml(fields: Sequence[tuple[str, str]]) -> str:
    """A QuestionFormAnswers document. What XML cannot hold becomes U+FFFD."""
    answers = "".join(
        f"<Answer><QuestionIdentifier>{_escaped(name)}</QuestionIdentifier>"
        f"<FreeText>{_escaped(value)}</FreeText></Answer>"
        for name, value in fields
    )
    return (
        '<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n'
        f'<QuestionFormAnswers xmlns="{QUESTION_FORM_ANSWERS}">{answers}</QuestionFormAnswers>'
    )


def _escaped(text: str) -> str:
    # A bare carriage return would come back as a line feed.
    return escape(NOT_XML.sub("\ufffd", text), {"\r": "&#13;"})
