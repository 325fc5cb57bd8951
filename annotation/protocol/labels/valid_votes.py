"""Which votes count: the one rule of labels, money, figures, pages, releases, and their check.

Another reason is a line of `VoidReason` and one of `NEEDS`. Python and the database are asked by
the same line, and a release holds the facts that some line asks for, so that `exports.verify` can
ask again.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any


class VoidReason(StrEnum):
    """Why a vote does not count, in the words that people read."""

    EXCLUDED = "the worker is excluded"
    UNREVIEWED = "its controls are not reviewed yet"
    FAILED = "a control was missed"
    REJECTED = "the work was rejected at the crowd"


@dataclass(frozen=True)
class VoteFacts:
    """All that is known of an assignment; None for what nobody asks for."""

    excluded: bool  # its worker, from the campaign
    rejected: bool  # at the crowd: somebody may have done so by hand
    passed: bool | None = None  # its controls; None before the review
    took: timedelta | None = None  # from its acceptance to its submission


# What a vote needs to count: a fact, one of Django's lookups, a value.
# The first need that is not met is the reason.
NEEDS: Mapping[VoidReason, tuple[str, str, object]] = {
    VoidReason.EXCLUDED: ("excluded", "exact", False),
    VoidReason.UNREVIEWED: ("passed", "isnull", False),
    VoidReason.FAILED: ("passed", "exact", True),
    VoidReason.REJECTED: ("rejected", "exact", False),
}
ASKED = frozenset(fact for fact, *_ in NEEDS.values())
LOOKUPS: Mapping[str, Callable[[Any, Any], bool]] = {
    "exact": operator.eq,
    "isnull": lambda fact, wanted: (fact is None) == wanted,
    "gte": operator.ge,
    "lte": operator.le,
}


def void_reason(facts: VoteFacts) -> VoidReason | None:
    """None where the votes of the work count."""
    for reason, (fact, lookup, value) in NEEDS.items():
        if not LOOKUPS[lookup](getattr(facts, fact), value):
            return reason
    return None


def is_discarded(status: str, reason: VoidReason | None) -> bool:
    """Whether it is paid for nothing; work that waits for its review is not, yet."""
    return status == "approved" and reason not in (None, VoidReason.UNREVIEWED)
