"""What needs a person's eye: disagreements by how much they matter, and what workers reported."""

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.roles import SEE_VOTES
from annotation.analytics.workers import worker_figures
from annotation.analytics.workers.item_reports import ReportedItem, read_items
from annotation.api.base.access import campaign_of
from annotation.models import Campaign
from annotation.pipeline.labelling.disagreements import (
    MOST,
    Disagreement,
    most_important,
    split_of,
)
from core.rest.openapi import operation
from core.rest.pagination import OffsetPages, offset_page

TAG = "labels"
TEXTS = ("candidate__query", "candidate__pair")


class DisagreementRow(serializers.Serializer[dict[str, Any]]):
    triplet = serializers.IntegerField()
    weight = serializers.FloatField()
    decisive = serializers.BooleanField(
        help_text="whether no other candidate of its query is labelled positive"
    )
    split = serializers.CharField(help_text="number of votes, but not what they were")
    query = serializers.CharField()
    question = serializers.CharField()
    answer = serializers.CharField()


class ComplaintRow(serializers.Serializer[Any]):
    reason = serializers.CharField()
    workers = serializers.IntegerField()
    cannot_judge = serializers.IntegerField(
        help_text="number of these workers who can't judge the item for this reason"
    )
    texts = serializers.ListField(child=serializers.CharField())


class ReportedRow(serializers.Serializer[ReportedItem]):
    hit = serializers.IntegerField(help_text="its number")
    position = serializers.IntegerField(help_text="position on the page, from 1")
    control = serializers.CharField(help_text="the control's kind; empty: a triplet")
    query = serializers.CharField()
    question = serializers.CharField()
    answer = serializers.CharField()
    workers = serializers.IntegerField(help_text="the worker who reported the item")
    complaints = ComplaintRow(many=True)


SHOWN = {
    "query": "How is bread made?",
    "question": "how do I bake bread",
    "answer": "Of flour, water, yeast and salt.",
}


class Disagreements(APIView):
    pagination_class = OffsetPages

    @operation(
        "disagreement_list",
        "List triplets with disagreement, most important first",
        tag=TAG,
        description=f"The first {MOST}, without a word of which way the votes went: an expert may "
        "be asked for a label. Unresolved triplets are listed by `triplet_list`.",
        answers={200: DisagreementRow(many=True)},
        example={"triplet": 77, "weight": 2.5, "decisive": True, "split": "2 : 1", **SHOWN},
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        # That no other candidate is positive tells a blind expert their labels.
        campaign = campaign_of(request, name, SEE_VOTES)
        disagreements = most_important(campaign)
        return offset_page(
            self, disagreements, DisagreementRow, prepare=lambda rows: _disputed(campaign, rows)
        )


def _disputed(campaign: Campaign, disagreements: Sequence[Disagreement]) -> list[dict[str, Any]]:
    pks = [one.triplet for one in disagreements]
    triplets = campaign.triplets.select_related(*TEXTS).in_bulk(pks)
    return [
        {
            **one._asdict(),
            "split": split_of(triplet),
            "query": triplet.candidate.query.text,
            "question": triplet.candidate.pair.question,
            "answer": triplet.candidate.pair.answer,
        }
        for one in disagreements
        if (triplet := triplets.get(one.triplet))
    ]


class Reports(APIView):
    pagination_class = OffsetPages

    @operation(
        "report_list",
        "List reported items, most often reported first",
        tag=TAG,
        description="Counted after the last pass.",
        answers={200: ReportedRow(many=True)},
        example={
            "hit": 12,
            "position": 3,
            "control": "",
            **SHOWN,
            "workers": 2,
            "complaints": [
                {
                    "reason": "Something else",
                    "workers": 2,
                    "cannot_judge": 0,
                    "texts": ["cut off"],
                }
            ],
        },
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        together = worker_figures.newest(campaign_of(request, name, SEE_VOTES))
        items: list[int] = together.figures["reported"] if together else []
        return offset_page(self, items, ReportedRow, prepare=read_items)
