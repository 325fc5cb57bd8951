"""The paper's pilots, and what each says of the answer."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.roles import visible_campaigns
from annotation.analytics.quality.pilot_report import Condition, PilotReport, pilot_report
from annotation.models import Pilot
from annotation.pipeline.setup.create_pilot import pilots
from core.rest.openapi import operation
from core.rest.pagination import NewestPages, page

TAG = "pilots"


class PilotRow(serializers.Serializer[Any]):
    name = serializers.CharField()
    shown = serializers.CharField(source="shown.name", help_text="the condition with the answer")
    hidden = serializers.CharField(source="hidden.name", help_text="the condition without it")
    created_at = serializers.DateTimeField()


class ConditionRow(serializers.Serializer[Condition]):
    campaign = serializers.CharField(source="campaign.name")
    triplets = serializers.IntegerField()
    labelled = serializers.IntegerField()
    unresolved = serializers.IntegerField()
    open = serializers.IntegerField()
    positive = serializers.IntegerField()
    votes = serializers.IntegerField()
    agreement = serializers.FloatField(
        allow_null=True, help_text="agreement of the first two votes"
    )
    workers = serializers.IntegerField()
    spent_cents = serializers.IntegerField()


class ErrorRow(serializers.Serializer[Any]):
    wrong = serializers.IntegerField()
    share = serializers.FloatField()
    low = serializers.FloatField(help_text="Wilson's interval, 95%")
    high = serializers.FloatField()


class ComparisonRow(serializers.Serializer[Any]):
    triplets = serializers.IntegerField(
        help_text="triplets that both conditions labelled and experts decided"
    )
    shown = ErrorRow()
    hidden = ErrorRow()
    both_wrong = serializers.IntegerField()
    shown_alone_wrong = serializers.IntegerField()
    hidden_alone_wrong = serializers.IntegerField()
    difference = serializers.FloatField(
        help_text="error without the answer minus error with it; above 0: the answer helps"
    )
    low = serializers.FloatField(help_text="Newcombe's interval of the difference, 95%")
    high = serializers.FloatField()
    relative = serializers.FloatField(
        allow_null=True, help_text="share of the error that showing the answer removes"
    )


class PilotRead(PilotRow):
    source = serializers.CharField(help_text="the campaign that the triplets come from")  # type: ignore[assignment]
    conditions = ConditionRow(many=True, help_text="the conditions with and without the answer")
    gold = serializers.IntegerField(help_text="triplets that experts decided")
    without_a_label = serializers.IntegerField(help_text="number of these in one condition")
    in_both_conditions = serializers.IntegerField(help_text="workers")
    met_again = serializers.IntegerField(
        help_text="triplets that one worker judged in both conditions"
    )
    comparison = ComparisonRow(allow_null=True, help_text="null: nothing to compare yet")


ROW = {
    "name": "answers",
    "shown": "answers-with",
    "hidden": "answers-without",
    "created_at": "2026-11-22T10:00:00Z",
}
CONDITION = {
    "campaign": "answers-with",
    "triplets": 200,
    "labelled": 198,
    "unresolved": 2,
    "open": 0,
    "positive": 41,
    "votes": 452,
    "agreement": 0.79,
    "workers": 23,
    "spent_cents": 1520,
}
ERROR = {"wrong": 10, "share": 0.05, "low": 0.0274, "high": 0.0896}
COMPARED = {
    "triplets": 198,
    "shown": ERROR,
    "hidden": {"wrong": 24, "share": 0.12, "low": 0.0821, "high": 0.1724},
    "both_wrong": 6,
    "shown_alone_wrong": 4,
    "hidden_alone_wrong": 18,
    "difference": 0.07,
    "low": 0.0254,
    "high": 0.1185,
    "relative": 0.58,
}
READ = {
    **ROW,
    "source": "faq",
    "conditions": [CONDITION, {**CONDITION, "campaign": "answers-without"}],
    "gold": 200,
    "without_a_label": 2,
    "in_both_conditions": 0,
    "met_again": 0,
    "comparison": COMPARED,
}


class Pilots(APIView):
    pagination_class = NewestPages

    @operation(
        "pilot_list",
        "List the pilots whose two conditions you can see, newest first",
        tag=TAG,
        answers={200: PilotRow(many=True)},
        example=ROW,
    )
    def get(self, request: Request) -> Response:
        return page(self, visible_pilots(request), PilotRow, pages=NewestPages)


class OnePilot(APIView):
    @operation(
        "pilot_read",
        "Show a pilot and the error of each condition by experts' labels",
        tag=TAG,
        answers={200: PilotRead},
        example=READ,
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        pilot = get_object_or_404(visible_pilots(request), name=name)
        return Response(PilotRead(_answer(pilot_report(pilot))).data)


def visible_pilots(request: Request) -> QuerySet[Pilot]:
    seen = visible_campaigns(request.user).values("pk")
    return pilots().filter(shown__in=seen, hidden__in=seen)


def _answer(report: PilotReport) -> dict[str, Any]:
    """With the pilot's own facts beside the report's."""
    counts = ("gold", "without_a_label", "in_both_conditions", "met_again", "comparison")
    return {
        **{name: getattr(report, name) for name in counts},
        **{name: getattr(report.pilot, name) for name in ("name", "shown", "hidden", "created_at")},
        "source": report.source.name,
        "conditions": [report.shown, report.hidden],
    }
