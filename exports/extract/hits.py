"""The numbers of HITs in a release: those of a second crowd are set apart from the first one's."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Case, F, Value, When
from django.db.models.expressions import CombinedExpression

from annotation.models import Campaign
from exports.layout.schemas import first_hit


def hit_number(campaigns: Sequence[Campaign], hit: str = "hit") -> CombinedExpression:
    """`hit` leads to it."""
    second = [
        When(**{f"{hit}__campaign": campaign}, then=Value(first_hit(place) - 1))
        for place, campaign in enumerate(campaigns)
        if place
    ]
    return F(f"{hit}__number") + Case(*second, default=Value(0))
