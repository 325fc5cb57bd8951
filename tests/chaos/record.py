"""What the crowd itself has recorded of a campaign, with the meaning that its packing gives it.

Read straight from the emulator's file; of our own database only the packing is believed: which
item of which HIT is which triplet, and which control expects what.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.crowd.mturk.xml import read_answers
from annotation.models import Campaign, HitItem
from annotation.protocol.screening.control import check_controls

FIELD = "item-"  # the form field of an item is this and the item's key
# All in one transaction: the crowd may still be at work.
HITS = """
    SELECT hit_id, requester_annotation, max_assignments, expired OR deleted_at IS NOT NULL,
           created_at,
           (SELECT COALESCE(SUM(on_hold), 0) FROM money m WHERE m.hit_id = h.hit_id),
           (SELECT COALESCE(SUM(spent), 0) FROM money m WHERE m.hit_id = h.hit_id)
    FROM hits h WHERE requester_annotation LIKE ? ORDER BY seq
"""
EXTENSIONS = "SELECT hit_id, created_at, assignments FROM extensions ORDER BY seq"
WORKS = """
    SELECT assignment_id, requester_annotation, worker_id, a.status, submit_number, submitted_at,
           answer, COALESCE(approved_at >= auto_approval_at, 0),
           (SELECT COALESCE(SUM(spent), 0) FROM money m WHERE m.assignment_id = a.assignment_id)
    FROM assignments a JOIN hits USING (hit_id)
    WHERE requester_annotation LIKE ? AND submit_number IS NOT NULL ORDER BY submit_number
"""


@dataclass(frozen=True)
class Item:
    """A triplet, or a control and its right answer."""

    triplet: int | None
    expected: int | None


@dataclass(frozen=True)
class Extension:
    at: float
    assignments: int


@dataclass(frozen=True)
class TheirHit:
    hit_id: str
    key: str  # ours
    max_assignments: int
    closed: bool  # nobody can take a place of it any more
    created_at: float
    held_cents: int
    spent_cents: int  # bonuses included
    extensions: tuple[Extension, ...]

    @property
    def first_assignments(self) -> int:
        return self.max_assignments - sum(extension.assignments for extension in self.extensions)


@dataclass(frozen=True)
class Work:
    """A submitted assignment, and what its controls say."""

    assignment_id: str
    hit: str  # our key
    worker: str
    status: str  # submitted, approved, rejected
    number: int  # in the order of submission
    submitted_at: float
    fields: Mapping[str, str]
    answers: Mapping[str, int]  # item's key -> 0 or 1
    failure: str  # why it did not pass
    by_timeout: bool  # approved because nobody had decided
    spent_cents: int  # bonuses included

    @property
    def passed(self) -> bool:
        return not self.failure


@dataclass(frozen=True)
class Record:
    hits: Sequence[TheirHit]  # with our prefix, in the order of creation
    works: Sequence[Work]  # on HITs that were packed here, in the order of submission
    items: Mapping[str, Mapping[str, Item]]  # HIT's key -> item's key -> what it is


def read_record(state: Path, campaign: Campaign) -> Record:
    items = packed_items(campaign)
    prefix = f"{campaign.uid.hex[:16]}-%"
    with _reading(state) as db:
        extensions: defaultdict[str, list[Extension]] = defaultdict(list)
        for hit_id, *extension in db.execute(EXTENSIONS):
            extensions[hit_id].append(Extension(*extension))
        hits = [_hit(row, tuple(extensions[row[0]])) for row in db.execute(HITS, [prefix])]
        works = [
            _work(row, items[row[1]]) for row in db.execute(WORKS, [prefix]) if row[1] in items
        ]
    return Record(hits, works, items)


def packed_items(campaign: Campaign) -> dict[str, dict[str, Item]]:
    """Of every HIT, published or not."""
    found: defaultdict[str, dict[str, Item]] = defaultdict(dict)
    rows = HitItem.objects.filter(hit__campaign=campaign).select_related("hit", "control")
    for row in rows.order_by("hit__number", "position"):
        expected = None if row.control is None else row.control.expected
        found[row.hit.key][row.key] = Item(row.triplet_id, expected)
    return dict(found)


@contextmanager
def _reading(state: Path) -> Iterator[sqlite3.Connection]:
    db = sqlite3.connect(f"file:{state}?mode=ro", uri=True, isolation_level=None)
    try:
        db.execute("BEGIN")
        yield db
    finally:
        db.close()


def _hit(row: Sequence[Any], extensions: tuple[Extension, ...]) -> TheirHit:
    hit_id, key, max_assignments, closed, created_at, held, spent = row
    return TheirHit(hit_id, key, max_assignments, bool(closed), created_at, held, spent, extensions)


def _work(row: Sequence[Any], items: Mapping[str, Item]) -> Work:
    assignment_id, hit, worker, status, number, submitted_at, xml, by_timeout, spent = row
    fields = read_answers(xml)
    given = {key: fields.get(FIELD + key) for key in items}
    answers = {key: int(value) for key, value in given.items() if value in ("0", "1")}
    expected = {key: item.expected for key, item in items.items() if item.expected is not None}
    return Work(
        assignment_id=assignment_id,
        hit=hit,
        worker=worker,
        status=status.lower(),
        number=number,
        submitted_at=submitted_at,
        fields=fields,
        answers=answers,
        failure=check_controls(expected, answers, list(items)).failure,
        by_timeout=bool(by_timeout),
        spent_cents=spent,
    )
