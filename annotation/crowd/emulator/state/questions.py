"""The three kinds of question that a HIT may have, and the address of an outside one's frame."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import urlencode, urlsplit, urlunsplit

from annotation.crowd.emulator.errors import invalid
from annotation.crowd.emulator.question import document
from annotation.crowd.emulator.question.document import text
from annotation.crowd.emulator.question.form import Form, form_of

PARAMETER = "Question"
MAX_FRAME_HEIGHT = 100_000


@dataclass(frozen=True)
class ExternalQuestion:
    kind: ClassVar = "ExternalQuestion"

    url: str
    frame_height: int  # pixels; 0: as high as the window allows


@dataclass(frozen=True)
class HTMLQuestion:
    kind: ClassVar = "HTMLQuestion"

    html: str
    frame_height: int


Question = ExternalQuestion | HTMLQuestion | Form


def parse_question(xml: str) -> Question:
    """RequestError where it is none of the three, or breaks its rules."""
    kinds = ("ExternalQuestion", "HTMLQuestion", "QuestionForm")
    root = document.read(xml, PARAMETER, kinds)
    if root.tag == "QuestionForm":
        return form_of(root, PARAMETER)
    height = _frame_height(text(root, "FrameHeight"))
    if root.tag == "HTMLQuestion":
        return HTMLQuestion(root.findtext("HTMLContent") or "", height)
    return ExternalQuestion(_url(text(root, "ExternalURL")), height)


def _url(address: str) -> str:
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError as error:
        raise invalid(f"ExternalURL is not a URL: {error}.") from error
    if parts.scheme not in ("http", "https") or not host or re.search(r"\s", address):
        raise invalid("ExternalURL must be an http or https URL.")
    return address


def _frame_height(said: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", said) or int(said) > MAX_FRAME_HEIGHT:
        raise invalid(f"FrameHeight must be an integer from 0 to {MAX_FRAME_HEIGHT}.")
    return int(said)


def frame_url(url: str, parameters: Sequence[tuple[str, str]]) -> str:
    """The question's URL with MTurk's parameters after those that it has."""
    parts = urlsplit(url)
    query = "&".join(filter(None, (parts.query, urlencode(parameters))))
    return urlunsplit(parts._replace(query=query))
