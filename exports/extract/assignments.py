"""The work that was submitted, what it cost, and how its controls were answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from annotation.models import Assignment, Campaign, Control, Judgment
from annotation.pipeline.ledger.settlements import excluded_workers
from annotation.protocol.labels.valid_votes import is_discarded, void_reason
from core.text.collation import by_code_points
from exports.extract.hits import hit_number
from exports.extract.parquet_table import Row, TableFile, table
from exports.layout.files import ASSIGNMENTS, CONTROLS
from exports.layout.schemas import FACTS, control_digest

ROWS = 5_000  # in memory at a time
CHARGED = (Assignment.Booked.PAID, Assignment.Booked.DISCARDED)


# Whole rows take twice the time: answers and texts are long.
COLUMNS = (
    "status",
    "passed",
    "accepted_at",
    "submitted_at",
    "account",
    "worker_id",
    "hit__campaign",
    "hit__price_cents",
)
ANSWER_COLUMNS = (
    "number",
    "worker_id",
    "hit__items__control__kind",
    "hit__items__control__query",
    "hit__items__control__question",
    "given",
)


def write_assignments(
    campaigns: Sequence[Campaign], folder: Path, workers: Mapping[int, str]
) -> Counter[int]:
    """In order of submission; the cents that all of it cost, by campaign."""
    _write_controls(campaigns, folder, workers)
    excluded = excluded_workers(*campaigns)
    cents: Counter[int] = Counter()
    rows = _submitted(campaigns).select_related("hit").only(*COLUMNS).iterator(chunk_size=ROWS)
    with TableFile(folder, ASSIGNMENTS) as file:
        while assignments := list(islice(rows, ROWS)):
            file.add(
                table([_assignment(one, workers, excluded) for one in assignments], file.schema)
            )
            for one in assignments:
                cents[one.hit.campaign_id] += _cents(one)
    return cents


def _write_controls(
    campaigns: Sequence[Campaign], folder: Path, workers: Mapping[int, str]
) -> None:
    """As the work is ordered, then by their places in the HIT."""
    answers = Judgment.objects.filter(assignment=OuterRef("pk"), item=OuterRef("hit__items"))
    asked = _submitted(campaigns).filter(hit__items__control__isnull=False)
    given = asked.annotate(given=Subquery(answers.values("value")))
    in_order = given.order_by(*asked.query.order_by, "hit__items__position")
    rows = in_order.values_list(*ANSWER_COLUMNS).iterator(chunk_size=ROWS)
    with TableFile(folder, CONTROLS) as file:
        while some := list(islice(rows, ROWS)):
            file.add(table([_answer(*row, workers=workers) for row in some], file.schema))


def _submitted(campaigns: Sequence[Campaign]) -> QuerySet[Any]:
    """Each with the `number` of its HIT."""
    assignments = Assignment.objects.filter(hit__campaign__in=campaigns)
    return assignments.annotate(number=hit_number(campaigns)).order_by(
        "submitted_at", by_code_points("crowd_id")
    )


def _assignment(assignment: Any, workers: Mapping[int, str], excluded: Collection[int]) -> Row:
    """In the order of exports.layout.schemas.ASSIGNMENT_COLUMNS."""
    of = assignment
    facts = of.facts(excluded)
    values = [getattr(facts, fact) for fact in FACTS]
    discarded = is_discarded(of.status, void_reason(facts))
    return of.number, workers[of.worker_id], of.status, *values, discarded, _cents(of)


def _cents(assignment: Assignment) -> int:
    return assignment.hit.price_cents if assignment.account in CHARGED else 0


def _answer(
    hit: int,
    worker: int,
    kind: str,
    query: str,
    question: str,
    given: int | None,
    *,
    workers: Mapping[int, str],
) -> Row:
    """Of ANSWER_COLUMNS in their order; in the order of exports.layout.schemas.CONTROL_COLUMNS."""
    expected = int(kind == Control.Kind.POSITIVE)
    return hit, workers[worker], kind, _digest(query, question), expected, given


# Positive controls come again and again.
_digest = lru_cache(maxsize=10_000)(control_digest)
