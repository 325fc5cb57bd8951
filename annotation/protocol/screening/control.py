"""Whether one assignment passes its control triplets (QUADRo, section 4)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ControlCheck:
    """What the review found; the keys are sorted."""

    passed: bool
    missed: tuple[str, ...]  # controls answered wrongly
    unanswered: tuple[str, ...]  # items of any kind without an answer of 0 or 1


def check_controls(
    expected: Mapping[str, int], answers: Mapping[str, int], items: Collection[str]
) -> ControlCheck:
    """One missed control or one unanswered item of any kind fails the assignment.

    `expected` maps each control's item key to its right answer, `items` are all of the HIT's.
    """
    answered = {key: value for key, value in answers.items() if value in (0, 1)}
    missed = sorted(
        key for key, right in expected.items() if key in answered and answered[key] != right
    )
    unanswered = sorted({*items, *expected} - answered.keys())
    return ControlCheck(not missed and not unanswered, tuple(missed), tuple(unanswered))
