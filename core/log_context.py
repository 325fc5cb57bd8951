"""What a log line is about: request, campaign, HIT and job, as far as they are known there.

Code that begins some work says it once; every line on the way has it.
"""

import contextvars
import logging
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from pythonjsonlogger.json import JsonFormatter

FIELDS = ("request", "campaign", "hit", "job")
# Of characters: what ends a line, moves on a screen, or is not seen there.
CONTROLS = {"Cc", "Cf", "Zl", "Zp"}
_about: contextvars.ContextVar[Mapping[str, str]] = contextvars.ContextVar("about")
_NOTHING: Mapping[str, str] = {}


@contextmanager
def about(**facts: object) -> Iterator[None]:
    """Lines written within are about these, and about whatever holds around it."""
    token = _about.set(_with(facts))
    try:
        yield
    finally:
        _about.reset(token)


def also_about(**facts: object) -> None:
    """The rest of the work is about these, until the `about` around it ends."""
    _about.set(_with(facts))


def _with(facts: Mapping[str, object]) -> Mapping[str, str]:
    known = {name: str(value) for name, value in facts.items() if value is not None}
    return {**_about.get(_NOTHING), **known}


def facts() -> Mapping[str, str]:
    return _about.get(_NOTHING)


class About(logging.Filter):
    """Puts them in words into each record, for lines."""

    def filter(self, record: logging.LogRecord) -> bool:
        known = facts()
        words = " ".join(f"{name}={_one_line(known[name])}" for name in FIELDS if name in known)
        record.about = f" [{words}]" if words else ""
        return True


class NoTraceback(logging.Filter):
    """For what strangers cause, and nobody can mend here."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.exc_info = None
        return True


class OneLine(logging.Formatter):
    """A record is one line, whatever texts it quotes; a traceback follows as it is."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return escaped(super().formatMessage(record))


class JsonLines(JsonFormatter):
    """One object a line; what is not known is left out."""

    def add_fields(
        self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]
    ) -> None:
        super().add_fields(log_data, record, message_dict)
        # Django hands its request over whole, which is no text and may hold a password.
        for name in ("request", "about"):
            log_data.pop(name, None)
        moment = datetime.fromtimestamp(record.created, UTC)
        log_data["time"] = moment.isoformat(timespec="milliseconds")
        log_data["level"] = record.levelname
        log_data["logger"] = record.name
        log_data.update(facts())


def escaped(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        repr(sign)[1:-1] if unicodedata.category(sign) in CONTROLS else sign for sign in text
    )


def _one_line(text: str) -> str:
    return "".join(sign if sign.isprintable() and sign != " " else "?" for sign in text)
