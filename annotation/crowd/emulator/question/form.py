"""A QuestionForm as a small tree: what to read, what to answer, and the rules of the answers."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar
from urllib.parse import urlsplit

import regex

from annotation.crowd.emulator.errors import invalid
from annotation.crowd.emulator.question import document
from annotation.crowd.emulator.question.document import Element, children, required_child, text
from annotation.crowd.emulator.question.formatted import clean

MAX_PATTERN_SIZE = 1_000_000  # characters that a pattern has once its {repeats} are written out
IN_A_LIST = ("dropdown", "list", "combobox", "multichooser")


@dataclass(frozen=True)
class Content:
    """One thing to read, hear or see."""

    kind: str  # title, text, list, formatted, image, audio, video
    text: str = ""  # of a formatted one: HTML; of the last three: in place of what is not seen
    items: tuple[str, ...] = ()
    url: str = ""
    width: str = ""
    height: str = ""


@dataclass(frozen=True)
class Pattern:
    regex: str
    ignores_case: bool
    error: str


@dataclass(frozen=True)
class FreeText:
    default: str = ""
    lines: int = 1
    is_number: bool = False
    low: Decimal | None = None
    high: Decimal | None = None
    min_length: int = 0
    max_length: int | None = None
    patterns: tuple[Pattern, ...] = ()


@dataclass(frozen=True)
class Selection:
    identifier: str
    content: Content


@dataclass(frozen=True)
class Choice:
    selections: tuple[Selection, ...]
    style: str
    low: int
    high: int
    other: FreeText | None

    @property
    def is_list(self) -> bool:
        """A list of the browser's holds nothing but text."""
        plain = all(each.content.kind == "text" for each in self.selections)
        return plain and self.style in IN_A_LIST

    @property
    def takes_many(self) -> bool:
        return self.high > 1 or self.style == "checkbox"


@dataclass(frozen=True)
class Question:
    field: str  # its name in the page's form
    identifier: str
    name: str
    is_required: bool
    content: tuple[Content, ...]
    answer: FreeText | Choice


@dataclass(frozen=True)
class Overview:
    content: tuple[Content, ...]


@dataclass(frozen=True)
class Form:
    kind: ClassVar = "QuestionForm"
    frame_height: ClassVar = 0  # it needs no frame

    parts: tuple[Overview | Question, ...]

    @property
    def questions(self) -> Iterator[Question]:
        return (part for part in self.parts if isinstance(part, Question))


def read_form(xml: str, parameter: str) -> Form:
    return form_of(document.read(xml, parameter, ("QuestionForm",)), parameter)


def form_of(root: Element, parameter: str) -> Form:
    """Of a root that follows the schema. `parameter` names it where it is refused."""
    reader = Reader(parameter)
    return Form(tuple(reader.part(number, child) for number, child in enumerate(children(root))))


@dataclass(frozen=True)
class Reader:
    parameter: str

    def part(self, number: int, element: Element) -> Overview | Question:
        if element.tag == "Overview":
            return Overview(self.contents(element))
        (answer,) = children(required_child(element, "AnswerSpecification"))
        return Question(
            field=f"answer-{number}",
            identifier=text(element, "QuestionIdentifier"),
            name=text(element, "DisplayName"),
            is_required=text(element, "IsRequired") in ("true", "1"),
            content=self.contents(required_child(element, "QuestionContent")),
            answer=self.free_text(answer)
            if answer.tag == "FreeTextAnswer"
            else self.choice(answer),
        )

    def contents(self, element: Element) -> tuple[Content, ...]:
        return tuple(self.content(child) for child in children(element))

    def content(self, element: Element) -> Content:
        said = (element.text or "").strip()
        if element.tag == "FormattedContent":
            return Content("formatted", clean(said, self.parameter))
        if element.tag == "List":
            return Content("list", items=tuple((each.text or "").strip() for each in element))
        if element.tag in ("Title", "Text"):
            return Content(element.tag.lower(), said)
        return Content(
            kind=text(element[0], "Type"),  # of the MIME type
            text=text(element, "AltText"),
            url=self.url(text(element, "DataURL")),
            width=text(element, "Width"),
            height=text(element, "Height"),
        )

    def url(self, address: str) -> str:
        try:
            parts = urlsplit(address)
        except ValueError as error:
            raise invalid(f"{self.parameter}: DataURL is not a URL: {error}.") from error
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise invalid(f"{self.parameter}: DataURL must be an http or https URL.")
        return address

    def free_text(self, element: Element) -> FreeText:
        constraints = element.find("Constraints")
        number, length = (
            None if constraints is None else constraints.find(name)
            for name in ("IsNumeric", "Length")
        )
        low, high = (_attribute(number, name) for name in ("minValue", "maxValue"))
        shortest, longest = (_attribute(length, name) for name in ("minLength", "maxLength"))
        return FreeText(
            default=element.findtext("DefaultText") or "",
            lines=int(text(element, "NumberOfLinesSuggestion", "1")),
            is_number=number is not None,
            low=None if low is None else Decimal(low),
            high=None if high is None else Decimal(high),
            min_length=int(shortest or 0),
            max_length=None if longest is None else int(longest),
            patterns=tuple(self.pattern(each) for each in element.iter("AnswerFormatRegex")),
        )

    def pattern(self, element: Element) -> Pattern:
        written = element.get("regex", "")
        repeats = (int(number) for number in re.findall(r"[{,]([0-9]+)(?=[,}])", written))
        if len(written) * math.prod(max(1, number) for number in repeats) > MAX_PATTERN_SIZE:
            raise document.fault(self.parameter, "AnswerFormatRegex repeats too much.")
        try:
            regex.compile(written)
        except (regex.error, RecursionError) as error:
            raise document.fault(
                self.parameter, f"AnswerFormatRegex is not a regular expression: {error}."
            ) from error
        said = element.get("errorText") or "This is not in the form that is asked for."
        return Pattern(written, element.get("flags") == "i", said)

    def choice(self, element: Element) -> Choice:
        selections = tuple(
            Selection(text(each, "SelectionIdentifier"), self.content(each[1]))
            for each in element.iterfind("Selections/Selection")
        )
        low, high = (int(text(element, f"{end}SelectionCount", "1")) for end in ("Min", "Max"))
        if not low <= high <= len(selections) or high == 0:
            raise document.fault(
                self.parameter,
                "MinSelectionCount must be at most MaxSelectionCount, and that at most the"
                f" {len(selections)} selections that there are.",
            )
        other = element.find("Selections/OtherSelection")
        return Choice(
            selections,
            text(element, "StyleSuggestion"),
            low,
            high,
            None if other is None else self.free_text(other),
        )


def _attribute(element: Element | None, name: str) -> str | None:
    return None if element is None else element.get(name)
