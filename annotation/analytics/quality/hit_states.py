"""In what state a HIT is, told by the database."""

from datetime import datetime
from typing import Any

from django.db.models import (
    Case,
    CharField,
    Count,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextChoices,
    Value,
    When,
)
from django.db.models.functions import Coalesce

from annotation.models import Assignment, Campaign, Hit


class HitState(TextChoices):
    PLANNED = "planned", "Planned"
    OPEN = "open", "At the crowd"
    FULL = "full", "Full"
    EXPIRED = "expired", "Expired"
    FAULTY = "faulty", "Faulty"


def with_state(hits: QuerySet[Hit], now: datetime) -> QuerySet[Any]:
    """Each with `submitted`, its assignments, and `condition`, its HitState."""
    over = Q(closed_at__isnull=False) | Q(gone=True) | Q(expires_at__lte=now)
    state = Case(
        When(~Q(fault=""), then=Value(HitState.FAULTY.value)),
        When(crowd_id=None, then=Value(HitState.PLANNED.value)),
        When(submitted__gte=F("max_assignments"), then=Value(HitState.FULL.value)),
        When(over, then=Value(HitState.EXPIRED.value)),
        default=Value(HitState.OPEN.value),
        output_field=CharField(),
    )
    return hits.annotate(submitted=_submitted()).annotate(condition=state)


def hits_by_state(campaign: Campaign, now: datetime) -> dict[str, int]:
    """Each HIT in one state alone."""
    rows = with_state(campaign.hits.order_by(), now).values_list("condition")
    return {**dict.fromkeys(HitState.values, 0), **dict(rows.annotate(Count("pk")))}


def _submitted() -> Coalesce:
    own = Assignment.objects.filter(hit=OuterRef("pk")).order_by().values("hit")
    count = Subquery(own.annotate(count=Count("pk")).values("count"))
    return Coalesce(count, Value(0), output_field=IntegerField())
