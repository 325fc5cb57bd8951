"""In what state a HIT is, told by the database."""

from datetime import datetime
from typing import Any

from django.db.models import Case, CharField, Count, F, Q, QuerySet, TextChoices, Value, When

from annotation.models import Campaign, Hit


class HitState(TextChoices):
    PLANNED = "planned", "Planned"
    OPEN = "open", "At the crowd"
    FULL = "full", "Full"
    EXPIRED = "expired", "Expired"
    FAULTY = "faulty", "Faulty"


def with_state(hits: QuerySet[Hit], now: datetime) -> QuerySet[Any]:
    """Each with `condition`, its HitState."""
    over = Q(closed_at__isnull=False) | Q(gone=True) | Q(expires_at__lte=now)
    state = Case(
        When(~Q(fault=""), then=Value(HitState.FAULTY.value)),
        When(crowd_id=None, then=Value(HitState.PLANNED.value)),
        When(submitted__gte=F("max_assignments"), then=Value(HitState.FULL.value)),
        When(over, then=Value(HitState.EXPIRED.value)),
        default=Value(HitState.OPEN.value),
        output_field=CharField(),
    )
    return hits.annotate(condition=state)


def hits_by_state(campaign: Campaign, now: datetime) -> dict[str, int]:
    """Each HIT in one state alone."""
    rows = with_state(campaign.hits.order_by(), now).values_list("condition")
    return {**dict.fromkeys(HitState.values, 0), **dict(rows.annotate(Count("pk")))}
