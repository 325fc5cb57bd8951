"""What a value of a release's JSON must be."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Rule:
    demand: str
    holds: Callable[[Any], bool]


def one_of(*options: str) -> Rule:
    return Rule(" or ".join(options), lambda value: value in options)


def whole(least: int, most: int = LARGEST) -> Rule:
    return Rule(
        f"a whole number from {least} to {most}",
        lambda value: type(value) is int and least <= value <= most,
    )


TEXT = Rule("a text", lambda value: isinstance(value, str))
ID = Rule("a text that is not empty", lambda value: isinstance(value, str) and value != "")
FLAG = Rule("true or false", lambda value: isinstance(value, bool))
WHOLE = Rule("a whole number", lambda value: type(value) is int)
COUNT = whole(0)
RANK = whole(1, 100_000)
LABEL = Rule("0 or 1", lambda value: type(value) is int and value in (0, 1))
NUMBER = Rule(
    "a number",
    lambda value: type(value) in (int, float) and math.isfinite(value) and abs(value) < LARGEST,
)
OBJECT = Rule("an object", lambda value: isinstance(value, dict))
