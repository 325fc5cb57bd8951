"""What time and pay of each assignment follow from, as numbers that are summed by worker."""

from collections.abc import Collection
from typing import Any

from django.db.models import (
    Case,
    Count,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    When,
)
from django.db.models.functions import Coalesce

from annotation.models import Assignment, Campaign, EffortTally, ItemReport, OutboxMessage
from core.files.bulk_insert import insert_from_query

COLUMNS = [field.attname for field in EffortTally._meta.concrete_fields if not field.primary_key]

DECIDED = ~Q(status=Assignment.Status.SUBMITTED)
TIMED = Q(behaviour__active_ms__isnull=False)


def count_efforts(campaign: Campaign, hits: Collection[int] | None = None) -> None:
    """Of the assignments of these HITs, or of all."""
    reports = ItemReport.objects.filter(assignment=OuterRef("pk"))
    bonuses = OutboxMessage.objects.filter(
        assignment=OuterRef("pk"),
        kind=OutboxMessage.Kind.BONUS,
        state=OutboxMessage.State.DONE,
    )
    values: dict[str, Any] = {
        "campaign_id": F("hit__campaign_id"),
        "assignment_id": F("pk"),
        "worker_id": F("worker_id"),
        "reviewed": _if(Q(passed__isnull=False)),
        "failed": _if(Q(passed=False)),
        "with_behaviour": _if(Q(behaviour__isnull=False)),
        "straight": _if(Q(behaviour__straight=True)),
        "reports": _of(reports, Count("pk")),
        "cannot_judge": _of(reports.filter(cannot_judge=True), Count("pk")),
        "active_ms": F("behaviour__active_ms"),
        "changes": _if(TIMED, F("behaviour__changes")),
        "approved": _if(TIMED & Q(status=Assignment.Status.APPROVED)),
        "paid_ms": _if(TIMED & DECIDED, F("behaviour__active_ms")),
        "bonus_cents": _if(TIMED & DECIDED, _of(bonuses, Sum("cents"))),
    }
    assignments = Assignment.objects.filter(hit__campaign=campaign).order_by()
    assignments = assignments if hits is None else assignments.filter(hit__in=hits)
    rows = assignments.values_list(*(values[name] for name in COLUMNS))
    insert_from_query(EffortTally, COLUMNS, rows)


def _if(condition: Q, then: int | F | Coalesce = 1) -> Case:
    return Case(When(condition, then=then), default=0, output_field=IntegerField())


def _of(rows: QuerySet[ItemReport] | QuerySet[OutboxMessage], total: Count | Sum) -> Coalesce:
    """Of those of an assignment."""
    counted = rows.order_by().values("assignment").annotate(total=total).values("total")
    return Coalesce(Subquery(counted), 0, output_field=IntegerField())
