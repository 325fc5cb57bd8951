"""A campaign's figures over time: what its overview draws, in numbers."""

from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.analytics.campaign.charts import Chart
from annotation.analytics.campaign.overview_charts import POINTS, charts_of
from annotation.analytics.campaign.snapshots import series
from annotation.api.base.access import campaign_of
from annotation.models import Campaign, Snapshot
from core.rest.openapi import operation
from core.rest.pagination import NewestPages, page

TAG = "figures"


class SnapshotRow(serializers.Serializer[Snapshot]):
    at = serializers.DateTimeField()
    figures = serializers.DictField()


class SeriesRow(serializers.Serializer[Any]):
    name = serializers.CharField()
    values = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        help_text="one value for each label; null: not known",
    )


class ChartRow(serializers.Serializer[Chart]):
    key = serializers.CharField()
    title = serializers.CharField()
    axis = serializers.CharField(help_text="the kind of label")
    unit = serializers.CharField(help_text="the unit of the values")
    note = serializers.CharField(help_text="how to read the chart")


class ChartRead(ChartRow):
    labels = serializers.ListField(child=serializers.CharField())
    series = SeriesRow(many=True)


ROW = {
    "key": "kappa",
    "title": "Cohen's kappa",
    "axis": "time (UTC)",
    "unit": "",
    "note": "Agreement of the first two valid votes beyond chance.",
}


class Snapshots(APIView):
    pagination_class = NewestPages

    @operation(
        "snapshot_list",
        "List a campaign's figures, newest first",
        tag=TAG,
        description="Figures are counted after each pass and by the job `snapshot`.",
        answers={200: SnapshotRow(many=True)},
        example={"at": "2026-11-22T10:00:00Z", "figures": {"triplets": 450, "labelled": 312}},
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        snapshots = campaign_of(request, name).snapshots
        return page(self, snapshots.all(), SnapshotRow, pages=NewestPages)


class Charts(APIView):
    @operation(
        "chart_list",
        "Show the charts of a campaign's overview",
        tag=TAG,
        description="Empty until the figures are counted for the first time.",
        answers={200: ChartRow(many=True)},
        example=ROW,
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        charts = _charts(campaign_of(request, name))
        return Response([ChartRow(chart).data for chart in charts])


class OneChart(APIView):
    @operation(
        "chart_read",
        "Show a chart's rows",
        tag=TAG,
        answers={200: ChartRead},
        example={
            **ROW,
            "labels": ["2026-11-22 10:00:00"],
            "series": [{"name": "Cohen's kappa", "values": [0.52]}],
        },
        refusals=[404],
    )
    def get(self, request: Request, name: str, key: str) -> Response:
        charts = [chart for chart in _charts(campaign_of(request, name)) if chart.key == key]
        if not charts:
            raise Http404
        return Response(ChartRead(charts[0]).data)


def _charts(campaign: Campaign) -> list[Chart]:
    return charts_of(campaign, series(campaign, points=POINTS))
