"""What came of a campaign's dry runs: asked for by a job, read here in figures."""

from dataclasses import asdict
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.roles import RUN
from annotation.api.base.access import campaign_of
from annotation.simulation.report import figures
from core.rest.openapi import operation
from core.rest.pagination import NewestPages, page
from retrieval.models import Job

TAG = "campaigns"


class DryRunFigures(serializers.Serializer[Any]):
    queries = serializers.IntegerField()
    triplets = serializers.IntegerField()
    hits = serializers.IntegerField()
    assignments = serializers.IntegerField()
    rejected = serializers.IntegerField()
    cents = serializers.IntegerField(help_text="0: no money moves")
    cents_per_label = serializers.FloatField(allow_null=True)
    whole_assignments = serializers.IntegerField(
        help_text="the cost scaled up to the whole campaign"
    )
    whole_cents = serializers.IntegerField()
    estimated_assignments = serializers.IntegerField()
    estimated_cents = serializers.IntegerField()
    estimated_cents_max = serializers.IntegerField()
    labelled = serializers.IntegerField()
    unresolved = serializers.IntegerField()
    open = serializers.IntegerField()
    ties = serializers.IntegerField()
    agreement = serializers.FloatField(
        allow_null=True, help_text="agreement of the first two votes"
    )
    accuracy = serializers.FloatField(allow_null=True, help_text="share of labels that are correct")
    low = serializers.FloatField(allow_null=True, help_text="bound of the accuracy's 95% interval")
    high = serializers.FloatField(allow_null=True)
    precision = serializers.FloatField(allow_null=True)
    recall = serializers.FloatField(allow_null=True)
    labels_by_experts = serializers.IntegerField()
    lost = serializers.IntegerField(help_text="careful workers who were excluded")
    caught = serializers.IntegerField(help_text="careless workers and spammers who were excluded")
    bad = serializers.IntegerField(help_text="careless workers and spammers in total")
    end = serializers.CharField(help_text="why the dry run ended")


class DryRunRow(serializers.Serializer[Job]):
    job = serializers.IntegerField(source="pk")
    requested_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField()
    options = serializers.DictField(source="result.options")
    figures = serializers.SerializerMethodField()

    def get_figures(self, job: Job) -> dict[str, Any]:
        return dict(DryRunFigures(asdict(figures(job.result or {}))).data)


FIGURES = {
    "queries": 20,
    "triplets": 600,
    "hits": 120,
    "assignments": 341,
    "rejected": 12,
    "cents": 6479,
    "cents_per_label": 10.9,
    "whole_assignments": 1705,
    "whole_cents": 32_395,
    "estimated_assignments": 1627,
    "estimated_cents": 30_913,
    "estimated_cents_max": 57_000,
    "labelled": 594,
    "unresolved": 6,
    "open": 0,
    "ties": 130,
    "agreement": 0.78,
    "accuracy": 0.95,
    "low": 0.93,
    "high": 0.965,
    "precision": 0.91,
    "recall": 0.89,
    "labels_by_experts": 0,
    "lost": 0,
    "caught": 3,
    "bad": 3,
    "end": "every triplet was decided",
}


class DryRuns(APIView):
    pagination_class = NewestPages

    @operation(
        "dry_run_list",
        "List a campaign's finished dry runs, newest first",
        tag=TAG,
        description=f"Requires the permission `{RUN}`.",
        answers={200: DryRunRow(many=True)},
        example={
            "job": 31,
            "requested_at": "2026-11-22T10:00:00Z",
            "ended_at": "2026-11-22T10:01:12Z",
            "options": {"workers": 16, "careless": 0.1, "spammers": 0.1, "seed": 0},
            "figures": FIGURES,
        },
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name, RUN)
        done = Job.objects.filter(kind="dry-run", subject=campaign.name, state=Job.State.DONE)
        return page(self, done, DryRunRow, pages=NewestPages)
