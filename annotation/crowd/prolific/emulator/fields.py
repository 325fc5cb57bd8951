"""Reads the fields of a body; what is wrong with them is said of all at once."""

import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from annotation.crowd.prolific.emulator.errors import ApiError, invalid

ID: Final = re.compile(r"[a-f0-9]{24}")
HIGHEST = 2**31 - 1


class Fields:
    def __init__(self, body: Mapping[str, Any]) -> None:
        self._body = body
        self._problems: dict[str, list[str]] = {}

    def text(self, name: str, *, required: bool = False, most: int | None = None) -> str | None:
        value = self._given(name, required)
        if value is None:
            return None
        if not isinstance(value, str):
            self.refuse(name, "Not a valid string.")
        elif required and not value.strip():
            self.refuse(name, "This field may not be blank.")
        elif most is not None and len(value) > most:
            self.refuse(name, f"Ensure this field has no more than {most} characters.")
        else:
            return value
        return None

    def number(
        self, name: str, low: int, high: int = HIGHEST, *, required: bool = False
    ) -> int | None:
        value = self._given(name, required)
        if value is None:
            return None
        if not is_whole(value):
            self.refuse(name, "A valid integer is required.")
        elif not low <= value <= high:
            self.refuse(name, f"Ensure this value is from {low} to {high}.")
        else:
            return int(value)
        return None

    def choice(self, name: str, values: Collection[str], *, required: bool = False) -> str | None:
        value = self._given(name, required)
        if value is None:
            return None
        if isinstance(value, str) and value in values:
            return value
        self.refuse(name, f"Choose one of {', '.join(values)}.")
        return None

    def choices(self, name: str, values: Collection[str]) -> list[str]:
        value = self._given(name, False) or []
        if isinstance(value, list) and all(isinstance(it, str) and it in values for it in value):
            return value
        self.refuse(name, f"Choose among {', '.join(values)}.")
        return []

    def flag(self, name: str) -> bool:
        value = self._given(name, False) or False
        if not isinstance(value, bool):
            self.refuse(name, "Must be a valid boolean.")
        return bool(value)

    def ids(self, name: str, *, required: bool = False) -> list[str] | None:
        value = self._given(name, required)
        if value is None:
            return None
        if isinstance(value, list) and all(is_id(it) for it in value):
            return value
        self.refuse(name, "A list of ids of 24 characters is required.")
        return None

    def time(self, name: str) -> float | None:
        """Of ISO 8601, in seconds since 1970."""
        text = self.text(name)
        if text is None:
            return None
        try:
            at = datetime.fromisoformat(text)
            return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            self.refuse(name, "Not a time of ISO 8601.")
            return None

    def refuse(self, name: str, sentence: str) -> None:
        self._problems.setdefault(name, []).append(sentence)

    def check(self) -> None:
        """ApiError where anything was refused."""
        if self._problems:
            raise ApiError(400, self._problems)

    def _given(self, name: str, required: bool) -> Any:
        value = self._body.get(name)
        if value is None and required:
            self.refuse(name, "This field is required.")
        return value


def is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_id(value: object) -> bool:
    return isinstance(value, str) and ID.fullmatch(value) is not None


def query_number(query: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and low <= int(text) <= high):
        raise invalid(name, f"Ensure this value is a whole number from {low} to {high}.")
    return int(text)
