"""Keep what workers' browsers told of their work, beside the judgments."""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

from annotation.models import Assignment, ItemReport, Observation
from annotation.protocol.screening.behaviour import (
    SIGNALS,
    is_straight,
    read_behaviour,
    read_reports,
)
from core.files.bulk_insert import insert

MILLISECOND = timedelta(milliseconds=1)


class Work(NamedTuple):
    assignment: Assignment
    items: Mapping[str, int]  # item key -> primary key
    answers: Mapping[str, int]  # item key -> 0 or 1


class Observed(NamedTuple):
    """An observation's columns."""

    assignment_id: int
    active_ms: int | None
    item_ms: str
    changes: int
    straight: bool


class Reported(NamedTuple):
    """A report's columns."""

    assignment_id: int
    item_id: int
    reason: str
    text: str


def record_behaviour(works: Sequence[Work]) -> None:
    """One observation of each, and the reports; in the transaction of the judgments."""
    insert(Observation, Observed._fields, (_observed(work) for work in works))
    insert(ItemReport, Reported._fields, (row for work in works for row in _reported(work)))


def _observed(work: Work) -> Observed:
    assignment = work.assignment
    wall = assignment.submitted_at - assignment.accepted_at
    text = assignment.answers.get(SIGNALS)
    told = read_behaviour(text, work.items.keys(), wall_ms=wall // MILLISECOND)
    return Observed(
        assignment.pk,
        told.active_ms,
        json.dumps(told.item_ms),
        told.changes,
        is_straight(work.answers, work.items.keys()),
    )


def _reported(work: Work) -> list[Reported]:
    return [
        Reported(work.assignment.pk, work.items[report.key], report.reason, report.text)
        for report in read_reports(work.assignment.answers, work.items.keys())
    ]
