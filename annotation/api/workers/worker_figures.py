"""Workers more closely: figures, letters, and what it would change to exclude one."""

from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.roles import SEE_VOTES
from annotation.analytics.workers import worker_figures
from annotation.analytics.workers.exclusion_impact import excluding, restoring
from annotation.api.base.access import campaign_of
from annotation.api.workers.workers import TAG, at_work
from annotation.models import Campaign, OutboxMessage, Worker, WorkerFigures
from annotation.pipeline.manual.message import letters_of
from core.rest.openapi import operation
from core.rest.pagination import NewestPages, page


class FiguresRow(serializers.ModelSerializer[WorkerFigures]):
    worker = serializers.CharField(source="worker.worker_id")

    class Meta:
        model = WorkerFigures
        fields = (
            "worker", "submitted", "reviewed", "failed", "failure_rate", "near", "compared",
            "agreeing", "agreement", "timed", "median_ms", "hourly_cents", "reports",
            "cannot_judge", "fast", "one_answer",
        )  # fmt: skip
        read_only_fields = fields


class ExclusionImpactRow(serializers.Serializer[dict[str, Any]]):
    worker = serializers.CharField()
    excluded = serializers.BooleanField(
        help_text="true: the worker is excluded, and the impact is that of restoring them"
    )
    votes = serializers.IntegerField(help_text="votes that would stop counting, or count again")
    cents = serializers.IntegerField(
        help_text="cost of the work that would be discarded, or count again"
    )
    labels_changed = serializers.IntegerField()
    triplets_reopened = serializers.IntegerField(
        help_text="changed labels that would be open again"
    )
    votes_to_buy = serializers.IntegerField()
    assignments_to_buy = serializers.IntegerField(help_text="at most")
    buy_cents = serializers.IntegerField(help_text="at most")


class LetterRow(serializers.Serializer[OutboxMessage]):
    kind = serializers.ChoiceField(choices=OutboxMessage.Kind.choices)
    state = serializers.ChoiceField(choices=OutboxMessage.State.choices)
    text = serializers.CharField(source="reason")
    cents = serializers.IntegerField(help_text="amount of the bonus")
    assignment = serializers.CharField(
        source="assignment.crowd_id",
        default=None,
        allow_null=True,
        help_text="null: about no assignment",
    )
    created_at = serializers.DateTimeField()


class Workforce(serializers.Serializer[Any]):
    at = serializers.DateTimeField(allow_null=True, help_text="null: not counted yet")
    figures = serializers.DictField(allow_null=True)


FIGURES = {
    "worker": "A1B2C3",
    "submitted": 40,
    "reviewed": 38,
    "failed": 2,
    "failure_rate": 0.0526,
    "near": False,
    "compared": 180,
    "agreeing": 150,
    "agreement": 0.8333,
    "timed": 39,
    "median_ms": 48_000.0,
    "hourly_cents": 1125,
    "reports": 1,
    "cannot_judge": 0,
    "fast": False,
    "one_answer": False,
}


class WorkerFiguresList(APIView):
    pagination_class = NewestPages

    @operation(
        "worker_figures_list",
        "List agreement, speed, and wage by worker",
        tag=TAG,
        description="Counted after the last pass. Rates are from 0 to 1.",
        answers={200: FiguresRow(many=True)},
        example=FIGURES,
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        rows = campaign_of(request, name, SEE_VOTES).worker_figures.select_related("worker")
        return page(self, rows, FiguresRow, pages=NewestPages)


class WorkforceFigures(APIView):
    @operation(
        "workforce_read",
        "Show times and wages of all workers of a campaign, and who shares errors",
        tag=TAG,
        description="`shared_errors` names the pairs who have more answers wrong together than "
        "chance explains. Nobody is excluded, rejected, or unpaid by it.",
        answers={200: Workforce},
        example={"at": "2026-11-22T10:00:00Z", "figures": {"workers": 23, "submitted": 1332}},
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        together = worker_figures.newest(campaign_of(request, name, SEE_VOTES))
        nothing = {"at": None, "figures": None}
        return Response(Workforce(together or nothing).data)


class WorkerExclusionImpact(APIView):
    @operation(
        "worker_exclusion_impact",
        "Preview the effect of excluding or restoring a worker",
        tag=TAG,
        description="This operation is read-only. To act on it, call `exclude` or `restore`.",
        answers={200: ExclusionImpactRow},
        example={
            "worker": "A1B2C3",
            "excluded": False,
            "votes": 190,
            "cents": 684,
            "labels_changed": 61,
            "triplets_reopened": 58,
            "votes_to_buy": 75,
            "assignments_to_buy": 40,
            "buy_cents": 760,
        },
        refusals=[404],
    )
    def get(self, request: Request, name: str, worker: str) -> Response:
        campaign = campaign_of(request, name, SEE_VOTES)
        one = worker_of(campaign, worker)
        excluded = campaign.exclusions.filter(worker=one, restored_at=None).exists()
        seen = restoring(campaign, one) if excluded else excluding(campaign, one)
        return Response(ExclusionImpactRow({**vars(seen), "excluded": excluded}).data)


class Letters(APIView):
    pagination_class = NewestPages

    @operation(
        "letter_list",
        "List messages, bonuses, and overturned rejections of a worker, newest first",
        tag=TAG,
        description="To write to a worker, call `message`.",
        answers={200: LetterRow(many=True)},
        example={
            "kind": "notify",
            "state": "done",
            "text": "Thank you.",
            "cents": 0,
            "assignment": None,
            "created_at": "2026-11-22T10:00:00Z",
        },
        refusals=[404],
    )
    def get(self, request: Request, name: str, worker: str) -> Response:
        campaign = campaign_of(request, name, SEE_VOTES)
        letters = letters_of(campaign, worker_of(campaign, worker))
        return page(self, letters, LetterRow, pages=NewestPages)


def worker_of(campaign: Campaign, worker_id: str) -> Worker:
    if "\0" in worker_id:  # PostgreSQL cannot even be asked for it
        raise Http404
    return get_object_or_404(at_work(campaign), worker_id=worker_id)
