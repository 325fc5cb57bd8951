"""What goes into calls and comes out of answers: ids, texts, money and times, each checked."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from html import escape
from typing import Any

from annotation.crowd.port import CrowdError

ID = re.compile(r"[a-f0-9]{24}")
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def id_of(value: object, what: str) -> str:
    """Checked before it becomes part of an address or a body."""
    if isinstance(value, str) and ID.fullmatch(value):
        return value
    raise CrowdError(
        f"{ascii(value)[:60]} is not the id of a {what} at Prolific: give 24 characters of 0 to 9"
        " and a to f.",
        permanent=True,
    )


def ids_of(values: Iterable[object], what: str) -> list[str]:
    return [id_of(value, what) for value in values]


def text_of(value: str, what: str) -> str:
    """A text of people's: it may hold anything that a reader can see."""
    if not value.strip():
        raise CrowdError(f"The {what} is empty: write one.", permanent=True)
    if bad := _NOT_TEXT.search(value):
        raise CrowdError(f"The {what} holds the character {bad[0]!a}: remove it.", permanent=True)
    return value


def paragraphs(text: str) -> str:
    """Plain text as the HTML that Prolific shows, so that no markup of the text counts."""
    lines = [line.strip() for line in text_of(text, "description").splitlines()]
    return "".join(f"<p>{escape(line)}</p>" for line in lines if line)


def major_units(cents: int) -> str:
    """4.25 for 425."""
    if cents <= 0:
        raise CrowdError(
            f"A bonus of {cents} cents cannot be paid: give more than 0.", permanent=True
        )
    return f"{cents // 100}.{cents % 100:02d}"


class Record:
    """An object of an answer; what else it holds is ignored. CrowdError where it lacks a field."""

    def __init__(self, value: object, what: str) -> None:
        self._what = what
        if not isinstance(value, Mapping):
            raise self._strange("no object")
        self._value: Mapping[str, Any] = value

    def id(self, name: str = "id") -> str:
        value = self._value.get(name)
        if isinstance(value, str) and ID.fullmatch(value):
            return value
        raise self._strange(name)

    def text(self, name: str) -> str:
        value = self._value.get(name)
        if not isinstance(value, str):
            raise self._strange(name)
        return value

    def optional_text(self, *names: str) -> str | None:
        """The first that is there."""
        values = [self._value[name] for name in names if self._value.get(name) is not None]
        if values and not isinstance(values[0], str):
            raise self._strange(names[0])
        return values[0] if values else None

    def number(self, name: str) -> int:
        """Whole, as counts and rewards are."""
        value = self.exact(name)
        if value != value.to_integral_value():
            raise self._strange(name)
        return int(value)

    def optional_number(self, name: str) -> int | None:
        return None if self._value.get(name) is None else self.number(name)

    def exact(self, name: str) -> Decimal:
        value = self._value.get(name)
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise self._strange(name)
        return Decimal(value)

    def is_set(self, name: str) -> bool:
        return bool(self._value.get(name))

    def flag(self, name: str, *, default: bool) -> bool:
        value = self._value.get(name, default)
        return value if isinstance(value, bool) else default

    def time(self, name: str) -> datetime | None:
        text = self.optional_text(name)
        if text is None:
            return None
        try:
            at = datetime.fromisoformat(text)
        except ValueError as error:
            raise self._strange(name) from error
        if at.tzinfo is None:
            raise self._strange(name)
        return at

    def numbers(self, name: str) -> tuple[int, ...]:
        values = self._value.get(name) or []
        whole = isinstance(values, list) and all(type(it) is int for it in values)
        if not whole:
            raise self._strange(name)
        return tuple(values)

    def items(self, name: str) -> list["Record"]:
        values = self._value.get(name) or []
        if not isinstance(values, list):
            raise self._strange(name)
        return [Record(it, f"{name} of {self._what}") for it in values]

    def mapping(self, name: str) -> "Record":
        return Record(self._value.get(name), f"{name} of {self._what}")

    def _strange(self, name: str) -> CrowdError:
        return CrowdError(
            f"Prolific's answer about a {self._what} cannot be read ({name}): check the address of"
            " the API, or whether its version has changed.",
            permanent=False,
        )
