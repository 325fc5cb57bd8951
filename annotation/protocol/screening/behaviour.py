"""What a worker's browser tells of the work: how long, how steadily, and which items are wrong.

All of it comes from outside and may be anything. What is kept of it:

- `behaviour` is JSON of at most BEHAVIOUR_LENGTH characters, an object with "v": 1; else it tells
  nothing. Only the HIT's own items are read from it.
- A time is a whole number of milliseconds from 0, anything else is none. Nobody worked for longer
  than the assignment was theirs, and no item took longer than the whole: a longer time is cut to
  that.
- The changes of an item's answer are a whole number from 0, cut to MOST_CHANGES.
- Where the policy lets people say that they can't judge an item, CANNOT_JUDGE is an answer, and its
  report says why.
- A report has one of the REASONS. Another reason, or none, is "other" where there is a text;
  else nothing is reported. Who can't judge without a reason has another one.
- A text is one line of at most TEXT_LENGTH characters without control characters.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

BEHAVIOUR = "behaviour"
REPORT = "report-"  # and the item's key: the reason
REPORT_TEXT = "report-text-"

VERSION = 1
BEHAVIOUR_LENGTH = 32_768  # a HIT of 100 items needs 12,000
MOST_MS = 2**31 - 1  # what the column holds: 24 days
MOST_CHANGES = 1000
TEXT_LENGTH = 500
TEXT_READ = 10_000  # of a longer text the rest is not even looked at
CANNOT_JUDGE = "cannot_judge"  # in place of 0 or 1
OTHER = "other"
REASONS: Mapping[str, str] = {
    "unclear": "It cannot be understood",
    "knowledge": "It needs knowledge that I do not have",
    "offensive": "It is offensive",
    "personal": "It holds personal data",
    "language": "It is in another language",
    OTHER: "Something else",
}


@dataclass(frozen=True)
class Behaviour:
    active_ms: int | None = None  # None: not told, or not in a usable way
    item_ms: Mapping[str, int] = field(default_factory=dict)  # item key -> milliseconds
    changes: int = 0  # answers taken back for the other one, of all items


class Report(NamedTuple):
    key: str  # the item's
    reason: str
    text: str
    cannot_judge: bool = False


def read_behaviour(text: object, keys: Collection[str], *, wall_ms: int) -> Behaviour:
    """`wall_ms`: from the acceptance of the assignment to its submission."""
    report = _object(text)
    if _whole(report.get("v")) != VERSION:
        return Behaviour()
    most = max(0, min(wall_ms, MOST_MS))
    active_ms = _at_most(most, report.get("active_ms"))
    item_ms: dict[str, int] = {}
    changes = 0
    for key, item in _items(report.get("items"), keys):
        ms = _at_most(most if active_ms is None else active_ms, item.get("ms"))
        if ms is not None:
            item_ms[key] = ms
        changes += _at_most(MOST_CHANGES, item.get("changes")) or 0
    return Behaviour(active_ms, item_ms, changes)


def read_reports(
    fields: Mapping[str, object], keys: Collection[str], cannot_judge: Collection[str] = ()
) -> list[Report]:
    reports = []
    for key in keys:
        text = _line(fields.get(REPORT_TEXT + key))
        reason = fields.get(REPORT + key)
        if isinstance(reason, str) and reason in REASONS:
            reports.append(Report(key, reason, text, key in cannot_judge))
        elif text or key in cannot_judge:
            reports.append(Report(key, OTHER, text, key in cannot_judge))
    return reports


def is_straight(answers: Mapping[str, int], keys: Collection[str]) -> bool:
    """The same answer to every item; a HIT's two kinds of controls make that a wrong one."""
    return len(answers) == len(keys) and len(set(answers.values())) == 1


def _object(text: object) -> Mapping[str, object]:
    if not isinstance(text, str) or len(text) > BEHAVIOUR_LENGTH:
        return {}
    try:
        report = json.loads(text)
    except (ValueError, RecursionError):  # no JSON, a number of thousands of digits, deep nesting
        return {}
    return report if isinstance(report, dict) else {}


def _items(report: object, keys: Collection[str]) -> Iterator[tuple[str, Mapping[str, object]]]:
    if isinstance(report, dict):
        for key in keys:
            item = report.get(key)
            if isinstance(item, dict):
                yield key, item


def _whole(value: object) -> int | None:
    # True is an int too, and says nothing of a time.
    return value if type(value) is int and value >= 0 else None


def _at_most(most: int, value: object) -> int | None:
    whole = _whole(value)
    return None if whole is None else min(whole, most)


def _line(text: object) -> str:
    if not isinstance(text, str) or not text:
        return ""
    kept = (
        " " if letter.isspace() else letter
        for letter in text[:TEXT_READ]
        # Cc: control characters, Cs: halves of a pair, which no database stores
        if letter.isspace() or unicodedata.category(letter) not in ("Cc", "Cs")
    )
    return "".join(kept).strip()[:TEXT_LENGTH].strip()
