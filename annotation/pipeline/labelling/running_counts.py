"""Counts that triggers keep of triplets and assignments: figures walk neither of these tables.

A trigger adds rows and changes none, so that nobody waits for another; later they are merged.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Count, Model, OuterRef, Subquery, Sum
from django.db.models.functions import Coalesce

from annotation.models import Assignment, AssignmentCount, Campaign, Triplet, TripletCount
from annotation.models.figures import RunningCount
from annotation.pipeline.changes import in_parts
from core.files.bulk_insert import insert

PARTS = 10_000
# Merged where they are more than so many times the different ones, and so many that do not matter.
TIMES, FEW = 2, 500
# What is counted, and where each column of a count comes from.
KINDS: Mapping[type[RunningCount], tuple[type[Model], Mapping[str, str]]] = {
    TripletCount: (
        Triplet,
        {
            "campaign_id": "campaign_id",
            "rank": "candidate__rank",
            "status": "status",
            "label": "label",
            "votes": "votes",
            "cannot_judge": "cannot_judge",
        },
    ),
    AssignmentCount: (
        Assignment,
        {
            "campaign_id": "hit__campaign_id",
            "worker_id": "worker_id",
            "status": "status",
            "passed": "passed",
            "failure": "failure",
            "account": "account",
            "price_cents": "hit__price_cents",
        },
    ),
}


def merge(campaign: Campaign) -> None:
    """With the campaign locked."""
    for kind, (_, columns) in KINDS.items():
        rows = kind._default_manager.filter(campaign=campaign)
        stored = list(rows.values_list("pk", *columns, "more"))
        sums = _sums(row[1:] for row in stored)
        if len(stored) > TIMES * len(sums) + FEW:
            for some in in_parts([pk for pk, *_ in stored], PARTS):
                rows.filter(pk__in=some).delete()
            _add(kind, columns, sums)


def mend(campaign: Campaign) -> int:
    """How many counts were not what there is; now all are."""
    own = Assignment.objects.filter(hit=OuterRef("pk")).order_by().values("hit")
    submitted = Coalesce(Subquery(own.annotate(count=Count("pk")).values("count")), 0)
    differences = campaign.hits.exclude(submitted=submitted).update(submitted=submitted)
    for kind, (model, columns) in KINDS.items():
        rows = model._default_manager.filter(**{columns["campaign_id"]: campaign.pk}).order_by()
        there_are = rows.values_list(*columns.values()).annotate(total=Count("pk"))
        kept = kind._default_manager.filter(campaign=campaign).order_by().values_list(*columns)
        # In one statement: between two, others may change what is counted.
        sums = _sums(there_are.union(kept.annotate(total=-Sum("more")), all=True))
        _add(kind, columns, sums)
        differences += len(sums)
    return differences


def _sums(rows: Iterable[Sequence[Any]]) -> dict[Sequence[Any], int]:
    """Rows end with a number; those that come to nothing are left out."""
    sums = Counter[Sequence[Any]]()
    for *key, number in rows:
        sums[tuple(key)] += number
    return {key: number for key, number in sums.items() if number}


def _add(
    kind: type[RunningCount], columns: Iterable[str], sums: Mapping[Sequence[Any], int]
) -> None:
    insert(kind, [*columns, "more"], ([*key, number] for key, number in sums.items()))
