"""Which votes count: the one rule of labels, money, figures, pages and releases."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from itertools import product


class VoidReason(StrEnum):
    """Why a vote does not count, in the words that people read."""

    EXCLUDED = "the worker is excluded"
    UNREVIEWED = "its controls are not reviewed yet"
    FAILED = "a control was missed"
    REJECTED = "the work was rejected at the crowd"


def void_reason(*, passed: bool | None, rejected: bool, excluded: bool) -> VoidReason | None:
    """None where the votes of the work count. `passed`: its controls; None before the review."""
    if excluded:
        return VoidReason.EXCLUDED
    if passed is None:
        return VoidReason.UNREVIEWED
    if not passed:
        return VoidReason.FAILED
    # Somebody may have rejected it at the crowd by hand.
    return VoidReason.REJECTED if rejected else None


def valid_states(*, excluded: bool) -> Iterator[tuple[bool | None, bool]]:
    """(passed, rejected) of the work whose votes count: what a database is asked for."""
    for passed, rejected in product((True, False, None), (False, True)):
        if void_reason(passed=passed, rejected=rejected, excluded=excluded) is None:
            yield passed, rejected
