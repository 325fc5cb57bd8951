"""XML from requesters: read without trust, then held to a schema of our own."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lxml import etree

from annotation.crowd.emulator.errors import RequestError, invalid, unsupported

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
EXTERNAL_QUESTION = f"{SCHEMAS}/2006-07-14/ExternalQuestion.xsd"
HTML_QUESTION = f"{SCHEMAS}/2011-11-11/HTMLQuestion.xsd"
QUESTION_FORM = f"{SCHEMAS}/2017-11-06/QuestionForm.xsd"
ANSWER_KEY = f"{SCHEMAS}/2005-10-01/AnswerKey.xsd"
NAMESPACES = {
    "ExternalQuestion": (EXTERNAL_QUESTION,),
    "HTMLQuestion": (HTML_QUESTION,),
    "QuestionForm": (QUESTION_FORM, f"{SCHEMAS}/2005-10-01/QuestionForm.xsd"),
    "AnswerKey": (ANSWER_KEY,),
}
# MTurk has dropped the first two; the third gave parameters to plug-ins.
UNSUPPORTED = ("Application", "FileUploadAnswer", "ApplicationParameter")
MAX_BYTES = 65_535
FAULT_LENGTH = 300

Element = etree._Element
SCHEMA = etree.XMLSchema(etree.parse(str(Path(__file__).with_name("questions.xsd"))))
SCHEMA_LOCK = threading.Lock()  # its log of errors is one for all threads


def read(xml: str, parameter: str, roots: tuple[str, ...]) -> Element:
    """The root, one of `roots`, valid under the schema; its elements without their namespace."""
    if len(xml.encode()) > MAX_BYTES:
        raise invalid(f"{parameter} is larger than {MAX_BYTES} bytes.")
    root = parse(xml, parameter)
    names = etree.QName(root)
    if names.localname not in roots or names.namespace not in NAMESPACES[names.localname]:
        wanted = " or ".join(f"{name} of {NAMESPACES[name][0]}" for name in roots)
        raise fault(parameter, f"the root must be {wanted}.")
    _drop_namespace(root, names.namespace, parameter)
    with SCHEMA_LOCK:
        if not SCHEMA.validate(root):
            errors: Any = SCHEMA.error_log
            raise fault(parameter, errors[0].message)
    return root


def parse(xml: str, parameter: str) -> Element:
    """Well-formed, without a document type: that is the door to entities and outside files."""
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        remove_comments=True,
        remove_pis=True,
        encoding="utf-8",
    )
    try:
        root = etree.fromstring(xml.encode(), parser)
    except etree.XMLSyntaxError as error:
        message = f"{parameter} is not well-formed XML: {error}"
        raise RequestError("XMLParseError", message[:FAULT_LENGTH]) from error
    if root.getroottree().docinfo.internalDTD is not None:
        raise fault(parameter, "a DOCTYPE is not allowed.")
    return root


def _drop_namespace(root: Element, namespace: str, parameter: str) -> None:
    for element in root.iter(etree.Element):
        name = etree.QName(element)
        if name.namespace != namespace:
            raise fault(parameter, f"{name.localname} is not of the namespace {namespace}.")
        if name.localname in UNSUPPORTED:
            raise unsupported(f"{name.localname} in a {parameter}")
        element.tag = name.localname


def fault(parameter: str, message: str) -> RequestError:
    said = f"{parameter} does not follow its schema: {' '.join(message.split())}"
    return RequestError("XMLParseError", said[:FAULT_LENGTH])


def children(element: Element) -> Iterator[Element]:
    return element.iterchildren(tag=etree.Element)


def required_child(element: Element, name: str) -> Element:
    """That the schema asks for."""
    child = element.find(name)
    assert child is not None
    return child


def text(element: Element, name: str, default: str = "") -> str:
    """Of the child of this name, without white space at its ends."""
    return (element.findtext(name) or default).strip()
