"""Values of a recipe, read and refused one by one. Pure."""

from __future__ import annotations

import difflib
import math
import reprlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from retrieval.registry.training_record import LONGEST_BASE

Read = Callable[[str, object], Any]
Values = Mapping[Any, object]


class Fault(ValueError):
    """What is wrong with a recipe, without its file and full stop."""


def known_only(
    values: object,
    known: Iterable[str],
    what: str = "it",
    *,
    places: Mapping[Any, str] = {},
) -> Values:
    """The values, where they are a mapping of these names alone. `places`: where others belong."""
    if not isinstance(values, Mapping):
        raise Fault(f"{what} must map setting names to values; see recipes/")
    names = list(known)
    if unknown := [name for name in values if name not in names]:
        where = "" if what == "it" else f" in {what}"
        belongs = places.get(unknown[0])
        [near] = difflib.get_close_matches(render(unknown[0]).strip("'"), names, n=1) or [""]
        elsewhere = f" (it belongs {belongs})" if belongs else near and f" (did you mean {near}?)"
        raise Fault(
            f"there is no setting {render(unknown[0])}{where}{elsewhere}; there are "
            f"{', '.join(names)}"
        )
    return values


def one_of(name: str, value: object, known: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in known:
        raise Fault(f"{name} is {render(value)}, and must be one of {', '.join(known)}")
    return value


def model(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Fault(f"{name} is {render(value)}, and must name a model")
    if len(value) > LONGEST_BASE:
        raise Fault(f"{name} has over {LONGEST_BASE} characters: move the model to a shorter path")
    return value.strip()


def several(name: str, given: object, read: Read) -> tuple[Any, ...]:
    """One value or a list of them."""
    values = tuple(read(name, one) for one in (given if isinstance(given, list) else [given]))
    if not values:
        raise Fault(f"{name} is an empty list")
    if len(set(values)) < len(values):
        raise Fault(f"{name} names a value twice")
    return values


def between(low: int, high: int) -> Read:
    return lambda name, value: whole(name, value, low, high)


def whole(name: str, value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Fault(f"{name} is {render(value)}, and must be a whole number, {low} to {high}")
    return value


def rate(name: str, value: object) -> float:
    """YAML reads 1e-5 as a text."""
    number = _number(value)
    if not 0 < number <= 1:
        raise Fault(f"{name} is {render(value)}, and must be a number above 0, at most 1")
    return number


def share(name: str, value: object) -> float:
    number = _number(value)
    if not 0 <= number < 1:
        raise Fault(f"{name} is {render(value)}, and must be a share from 0 to under 1")
    return number


def part(name: str, value: object) -> float:
    number = _number(value)
    if not 0 <= number <= 1:
        raise Fault(f"{name} is {render(value)}, and must be a number from 0 to 1")
    return number


def weight(name: str, value: object) -> float:
    number = _number(value)
    if not 0 < number <= 1000:
        raise Fault(f"{name} is {render(value)}, and must be a number above 0, at most 1000")
    return number


def _number(value: object) -> float:
    """NaN, which is in no range, for what is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def render(value: object) -> str:
    if value is None:
        return "left out"
    # Never the whole: lists may hold each other a billion times.
    short = reprlib.Repr()
    short.maxstring = short.maxother = 60
    try:
        return short.repr(value)[:60]
    except ValueError:  # what Python says of such a number
        return "a number of thousands of digits"
