"""Controls: the pool that campaigns share, a campaign's own, and how both are answered."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.roles import visible_campaigns
from annotation.analytics.quality import review_figures
from annotation.analytics.quality.control_accuracy import rates_of
from annotation.models import Campaign, Control
from annotation.protocol.policy.tasks import TASKS
from annotation.protocol.screening.control_accuracy import ControlRate
from core.rest.openapi import operation
from core.rest.pagination import KeyPages, page
from core.rest.parsing import query

TAG = "controls"

Rates = dict[int, ControlRate]


class RateRow(serializers.Serializer[ControlRate]):
    answered = serializers.IntegerField()
    right = serializers.IntegerField()
    workers = serializers.IntegerField()
    share = serializers.FloatField(
        allow_null=True, help_text="share of answers that were as expected"
    )


class ControlRow(serializers.Serializer[Control]):
    id = serializers.IntegerField(source="pk")
    kind = serializers.ChoiceField(choices=Control.Kind.choices)
    task = serializers.ChoiceField(choices=list(TASKS), help_text="whose campaigns share it")
    query = serializers.CharField()
    question = serializers.CharField()
    answer = serializers.CharField()
    retired_at = serializers.DateTimeField(allow_null=True)
    rate = serializers.SerializerMethodField(
        help_text="campaign whose count is the latest; null: not counted yet"
    )

    def get_rate(self, control: Control) -> dict[str, Any] | None:
        rates: Rates = self.context["rates"]
        rate = rates.get(control.pk)
        return dict(RateRow(rate).data) if rate else None


class ControlFilter(serializers.Serializer[dict[str, Any]]):
    retired = serializers.BooleanField(required=False)
    task = serializers.ChoiceField(choices=list(TASKS), required=False)


SENT = {"query": "how many days has a week", "question": "days of a week", "answer": "Seven."}
ROW = {
    "id": 31,
    "kind": "positive",
    "task": "equivalence",
    **SENT,
    "retired_at": None,
    "rate": {"answered": 80, "right": 79, "workers": 12, "share": 0.9875},
}


class Controls(APIView):
    pagination_class = KeyPages

    @operation(
        "control_list",
        "List the controls of the pool and how they were answered",
        tag=TAG,
        description="Rates cover the campaigns that you can see. Every control is positive.",
        parameters=[ControlFilter],
        answers={200: ControlRow(many=True)},
        example=ROW,
    )
    def get(self, request: Request) -> Response:
        rates = review_figures.of_pool(visible_campaigns(request.user))
        return listed(self, request, Control.objects.filter(campaign=None), rates)


class OneControl(APIView):
    @operation(
        "control_read",
        "Show a control of the pool",
        tag=TAG,
        answers={200: ControlRow},
        example=ROW,
        refusals=[404],
    )
    def get(self, request: Request, pk: int) -> Response:
        rates = review_figures.of_pool(visible_campaigns(request.user))
        return control_response(get_object_or_404(Control, campaign=None, pk=pk), rates)


def rates_in(campaign: Campaign) -> Rates:
    """Of the controls that were answered worst, both kinds."""
    figures = review_figures.of_campaign(campaign) or {}
    rates = [rate for kind in Control.Kind.values for rate in rates_of(figures, kind)]
    return {rate.control: rate for rate in rates}


def listed(view: APIView, request: Request, controls: QuerySet[Control], rates: Rates) -> Response:
    wanted = query(request, ControlFilter)
    if "retired" in wanted:
        controls = controls.filter(retired_at__isnull=not wanted["retired"])
    if "task" in wanted:
        controls = controls.filter(task=wanted["task"])
    return page(view, controls, ControlRow, rates=rates)


def control_response(control: Control, rates: Rates) -> Response:
    return Response(ControlRow(control, context={"rates": rates}).data)
