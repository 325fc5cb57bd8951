"""Workers: their part in a campaign, and whether they are excluded from it."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.http import Http404
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.roles import SEE_VOTES
from annotation.api.base.access import campaign_of
from annotation.models import Assignment, Campaign, Exclusion, Worker
from annotation.protocol.policy.crowds import CROWDS, PAPER_CROWD
from core.rest.openapi import operation
from core.rest.pagination import KeyPages, page

TAG = "workers"
COUNTS = {
    "submitted": Count("pk"),
    "reviewed": Count("pk", filter=Q(passed__isnull=False)),
    "failed": Count("pk", filter=Q(passed=False)),
    "approved": Count("pk", filter=Q(status=Assignment.Status.APPROVED)),
    "rejected": Count("pk", filter=Q(status=Assignment.Status.REJECTED)),
}


class WorkerRow(serializers.Serializer[dict[str, Any]]):
    worker = serializers.CharField(help_text="the crowd's id of the worker")
    crowd = serializers.CharField(help_text=" or ".join(f"`{kind}`" for kind in CROWDS))
    submitted = serializers.IntegerField()
    reviewed = serializers.IntegerField()
    failed = serializers.IntegerField(help_text="assignments with a wrong control")
    approved = serializers.IntegerField()
    rejected = serializers.IntegerField()
    excluded = serializers.BooleanField(
        help_text="whether the worker is excluded from the campaign"
    )


class ExclusionRow(serializers.Serializer[Exclusion]):
    failures = serializers.IntegerField()
    reviewed = serializers.IntegerField()
    reason = serializers.CharField(
        help_text="the reason that a person gave; empty: the failure rate was too high"
    )
    created_at = serializers.DateTimeField()
    restored_at = serializers.DateTimeField(allow_null=True)


class WorkerRead(WorkerRow):
    exclusions = ExclusionRow(many=True)


ROW = {
    "worker": "A1B2C3",
    "crowd": PAPER_CROWD.kind,
    "submitted": 40,
    "reviewed": 38,
    "failed": 2,
    "approved": 36,
    "rejected": 2,
    "excluded": False,
}
EXCLUSION = {
    "failures": 2,
    "reviewed": 12,
    "reason": "",
    "created_at": "2026-11-22T10:00:00Z",
    "restored_at": None,
}


def at_work(campaign: Campaign) -> QuerySet[Worker]:
    """Who has submitted something."""
    assignments = Assignment.objects.filter(hit__campaign=campaign, worker=OuterRef("pk"))
    return Worker.objects.filter(Exists(assignments))


def counted(campaign: Campaign, workers: Sequence[Worker]) -> list[dict[str, Any]]:
    """Two queries for all of them."""
    assignments = Assignment.objects.filter(hit__campaign=campaign, worker__in=workers).order_by()
    rows = assignments.values("worker_id").annotate(**COUNTS)
    counts: dict[int, Any] = {row["worker_id"]: row for row in rows}
    exclusions = campaign.exclusions.filter(worker__in=workers, restored_at=None)
    excluded = set(exclusions.values_list("worker_id", flat=True))
    return [
        {
            **counts[worker.pk],
            "worker": worker.worker_id,
            "crowd": worker.crowd,
            "excluded": worker.pk in excluded,
        }
        for worker in workers
    ]


class Workers(APIView):
    pagination_class = KeyPages

    @operation(
        "worker_list",
        "List a campaign's workers",
        tag=TAG,
        answers={200: WorkerRow(many=True)},
        example=ROW,
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name, SEE_VOTES)
        return page(
            self,
            at_work(campaign),
            WorkerRow,
            prepare=lambda workers: counted(campaign, workers),
        )


class OneWorker(APIView):
    @operation(
        "worker_read",
        "Show a worker's work in a campaign",
        tag=TAG,
        description="To exclude, restore, or pay a worker, call an operation.",
        answers={200: WorkerRead},
        example={**ROW, "exclusions": [EXCLUSION]},
        refusals=[404],
    )
    def get(self, request: Request, name: str, worker: str) -> Response:
        campaign = campaign_of(request, name, SEE_VOTES)
        if "\0" in worker:  # PostgreSQL cannot even be asked for it
            raise Http404
        one = get_object_or_404(at_work(campaign), worker_id=worker)
        counts = counted(campaign, [one])[0]
        counts["exclusions"] = campaign.exclusions.filter(worker=one).order_by("pk")
        return Response(WorkerRead(counts).data)
