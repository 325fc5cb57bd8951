"""Keep what workers' browsers told of their work, beside the judgments."""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from annotation.models import Behaviour, ItemReport
from annotation.protocol.screening.behaviour import (
    BEHAVIOUR,
    is_straight,
    read_behaviour,
    read_reports,
)
from core.files.bulk_insert import insert

MILLISECOND = timedelta(milliseconds=1)


class Submitted(NamedTuple):
    """An assignment's columns."""

    pk: int
    hit_id: int
    worker_id: int
    crowd_id: str
    status: str
    accepted_at: datetime
    submitted_at: datetime
    answers: dict[str, str]  # form field -> value


class AnsweredAssignment(NamedTuple):
    assignment: Submitted
    items: Mapping[str, int]  # item key -> primary key
    answers: Mapping[str, int]  # item key -> 0 or 1
    cannot_judge: Collection[str]  # item keys


class BehaviourRow(NamedTuple):
    """A behaviour's columns."""

    assignment_id: int
    active_ms: int | None
    item_ms: str
    changes: int
    straight: bool


class ReportRow(NamedTuple):
    """A report's columns."""

    assignment_id: int
    item_id: int
    reason: str
    text: str
    cannot_judge: bool


def record_behaviour(assignments: Sequence[AnsweredAssignment]) -> None:
    """One row of behaviour of each, and the reports; in the transaction of the judgments."""
    insert(
        Behaviour, BehaviourRow._fields, (_behaviour_row(assignment) for assignment in assignments)
    )
    insert(
        ItemReport,
        ReportRow._fields,
        (row for assignment in assignments for row in _report_rows(assignment)),
    )


def _behaviour_row(answered: AnsweredAssignment) -> BehaviourRow:
    assignment = answered.assignment
    wall = assignment.submitted_at - assignment.accepted_at
    text = assignment.answers.get(BEHAVIOUR)
    report = read_behaviour(text, answered.items.keys(), wall_ms=wall // MILLISECOND)
    return BehaviourRow(
        assignment.pk,
        report.active_ms,
        json.dumps(report.item_ms),
        report.changes,
        is_straight(answered.answers, answered.items.keys()),
    )


def _report_rows(answered: AnsweredAssignment) -> list[ReportRow]:
    reports = read_reports(
        answered.assignment.answers, answered.items.keys(), answered.cannot_judge
    )
    return [
        ReportRow(
            answered.assignment.pk,
            answered.items[report.key],
            report.reason,
            report.text,
            report.cannot_judge,
        )
        for report in reports
    ]
