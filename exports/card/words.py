"""Figures as a reader wants them; what is undefined says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from core.text import words

UNDEFINED = "undefined"
percent = partial(words.percent, unknown=UNDEFINED)


def count(number: int | None) -> str:
    return UNDEFINED if number is None else f"{number:,}"


def rate(share: float) -> str:
    """A share that somebody chose, as they wrote it."""
    return f"{round(100 * share, 4):g}%"


def decimal(number: float | None) -> str:
    return UNDEFINED if number is None else f"{number:.3f}"


def plus_minus(spread: Mapping[str, float | None]) -> str:
    return UNDEFINED if spread["mean"] is None else f"{spread['mean']:.1f} ± {spread['std']:.1f}"


def between(interval: Sequence[float | None] | None, *, shares: bool) -> str:
    if interval is None or None in interval:
        return UNDEFINED
    low, high = (percent(end) if shares else decimal(end) for end in interval)
    return f"{low} to {high}"


def money(cents: float, currency: str) -> str:
    """Not by the sign: two of them on a line make a formula on some pages."""
    return f"{currency} {cents / 100:,.2f}"
