"""A campaign's own controls, its rates, and those that its votes propose for the pool."""

from typing import Any

from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.roles import SEE_VOTES
from annotation.analytics.quality import review_figures
from annotation.analytics.quality.control_accuracy import Figures
from annotation.api.base.access import campaign_of
from annotation.api.controls.controls import (
    ROW,
    SENT,
    TAG,
    ControlFilter,
    ControlRow,
    control_response,
    listed,
    rates_in,
)
from annotation.models import Control, ControlCandidate, ControlDraft
from annotation.pipeline.controls.candidates import control_candidates
from annotation.protocol.screening.control_accuracy import ControlRate
from core.rest.openapi import operation
from core.rest.pagination import KeyPages, page
from core.rest.parsing import query

TEXTS = ("triplet__candidate__query", "triplet__candidate__pair")


class KindRates(serializers.Serializer[dict[str, Any]]):
    controls = serializers.IntegerField(help_text="number of controls shown")
    answered = serializers.IntegerField()
    right = serializers.IntegerField()
    share = serializers.FloatField(allow_null=True)


class RatesAnswer(serializers.Serializer[dict[str, Any]]):
    positive = KindRates(allow_null=True, help_text="null: not counted yet")
    negative = KindRates(allow_null=True)


class ControlCandidateRow(serializers.Serializer[ControlCandidate]):
    state = serializers.ChoiceField(choices=ControlCandidate.State.choices)
    triplet = serializers.IntegerField(source="triplet_id")
    query = serializers.CharField(source="triplet.candidate.query.text")
    question = serializers.CharField(source="triplet.candidate.pair.question")
    answer = serializers.CharField(source="triplet.candidate.pair.answer")
    decided_by = serializers.CharField()
    decided_at = serializers.DateTimeField(allow_null=True)


class ControlCandidateFilter(serializers.Serializer[dict[str, Any]]):
    state = serializers.ChoiceField(required=False, choices=ControlCandidate.State.choices)


class ControlDraftRow(serializers.Serializer[ControlDraft]):
    id = serializers.IntegerField(source="pk")
    state = serializers.ChoiceField(choices=ControlDraft.State.choices)
    kind = serializers.ChoiceField(choices=Control.Kind.choices)
    origin = serializers.ChoiceField(choices=ControlDraft.Origin.choices)
    query = serializers.CharField(source="query.text")
    question = serializers.CharField()
    answer = serializers.CharField()
    control = serializers.IntegerField(source="control_id", allow_null=True)
    decided_by = serializers.CharField()
    decided_at = serializers.DateTimeField(allow_null=True)


class ControlDraftFilter(serializers.Serializer[dict[str, Any]]):
    state = serializers.ChoiceField(required=False, choices=ControlDraft.State.choices)


CANDIDATE = {
    "state": "open",
    "triplet": 77,
    **SENT,
    "decided_by": "",
    "decided_at": None,
}
DRAFT = {
    "id": 3,
    "state": "open",
    "kind": "positive",
    "origin": "rewording",
    **SENT,
    "control": None,
    "decided_by": "",
    "decided_at": None,
}
RATES = {"controls": 20, "answered": 800, "right": 790, "share": 0.9875}


class CampaignControls(APIView):
    pagination_class = KeyPages

    @operation(
        "campaign_control_list",
        "List a campaign's own controls",
        tag=TAG,
        parameters=[ControlFilter],
        answers={200: ControlRow(many=True)},
        example={**ROW, "kind": "negative"},
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name)
        return listed(self, request, campaign.controls.all(), rates_in(campaign))


class CampaignControl(APIView):
    @operation(
        "campaign_control_read",
        "Show one of a campaign's own controls",
        tag=TAG,
        answers={200: ControlRow},
        example={**ROW, "kind": "negative"},
        refusals=[404],
    )
    def get(self, request: Request, name: str, pk: int) -> Response:
        campaign = campaign_of(request, name)
        return control_response(get_object_or_404(campaign.controls, pk=pk), rates_in(campaign))


class ControlRates(APIView):
    @operation(
        "campaign_control_rates",
        "Summarise the answers to a campaign's controls",
        tag=TAG,
        description="Counted after the last pass, without excluded workers.",
        answers={200: RatesAnswer},
        example={"positive": RATES, "negative": RATES},
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        figures = review_figures.of_campaign(campaign_of(request, name)) or {}
        rates = {kind: _total(figures, kind) for kind in Control.Kind.values}
        return Response(RatesAnswer(rates).data)


class ControlCandidates(APIView):
    pagination_class = KeyPages

    @operation(
        "control_candidate_list",
        "List control candidates, which a person confirms or dismisses",
        tag=TAG,
        parameters=[ControlCandidateFilter],
        answers={200: ControlCandidateRow(many=True)},
        example=CANDIDATE,
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        # All agreed on each: no blind expert may know which they are.
        campaign = campaign_of(request, name, SEE_VOTES)
        candidates = control_candidates(campaign).filter(**query(request, ControlCandidateFilter))
        return page(self, candidates.select_related(*TEXTS), ControlCandidateRow)


class ControlDrafts(APIView):
    pagination_class = KeyPages

    @operation(
        "control_draft_list",
        "List drafts of a campaign's own controls, which a person confirms or dismisses",
        tag=TAG,
        parameters=[ControlDraftFilter],
        answers={200: ControlDraftRow(many=True)},
        example=DRAFT,
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        drafts = campaign_of(request, name).control_drafts.filter(
            **query(request, ControlDraftFilter)
        )
        return page(self, drafts.select_related("query"), ControlDraftRow)


def _total(figures: Figures, kind: str) -> dict[str, Any] | None:
    if kind not in figures:
        return None
    counts = figures[kind]
    rate = ControlRate(0, counts["answered"], counts["right"], 0)
    return {**counts, "share": rate.share}
