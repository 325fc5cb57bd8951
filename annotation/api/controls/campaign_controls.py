"""A campaign's own controls, its rates, and those that its votes propose for the pool."""

from typing import Any

from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.audit_log import by_api
from annotation.access.roles import CHANGE_CONTROLS
from annotation.analytics.quality import review_figures
from annotation.analytics.quality.control_accuracy import Figures
from annotation.api.base.access import campaign_of, require, user_of
from annotation.api.base.idempotency import Done, once
from annotation.api.controls.controls import (
    OF_A_CAMPAIGN,
    OF_THE_POOL,
    ROW,
    SENT,
    TAG,
    ControlFilter,
    ControlRow,
    TextsSent,
    listed,
    made,
    rates_in,
    replaced,
    retired,
    shown,
)
from annotation.models import Campaign, Control, ControlCandidate
from annotation.operations import controls as operations
from annotation.pipeline.controls.candidates import control_candidates
from annotation.pipeline.controls.controls import Texts
from annotation.protocol.screening.control_accuracy import ControlRate
from core.rest.openapi import key_header, operation
from core.rest.pagination import KeyPages, page
from core.rest.parsing import Nothing, body, query

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
    id = serializers.IntegerField(source="pk")
    state = serializers.ChoiceField(choices=ControlCandidate.State.choices)
    triplet = serializers.IntegerField(source="triplet_id")
    query = serializers.CharField(source="triplet.candidate.query.text")
    question = serializers.CharField(source="triplet.candidate.pair.question")
    answer = serializers.CharField(source="triplet.candidate.pair.answer")
    decided_by = serializers.CharField()
    decided_at = serializers.DateTimeField(allow_null=True)


class ControlCandidateFilter(serializers.Serializer[dict[str, Any]]):
    state = serializers.ChoiceField(required=False, choices=ControlCandidate.State.choices)


CANDIDATE = {
    "id": 3,
    "state": "open",
    "triplet": 77,
    **SENT,
    "decided_by": "",
    "decided_at": None,
}
RATES = {"controls": 20, "answered": 800, "right": 790, "share": 0.9875}


class CampaignControls(APIView):
    pagination_class = KeyPages

    @operation(
        "campaign_control_list",
        "List a campaign's own controls, which are negative",
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
        return shown(_own(campaign, pk), rates_in(campaign))


class ReplaceCampaignControl(APIView):
    @operation(
        "campaign_control_replace",
        "Replace the texts of a campaign's control",
        tag=TAG,
        description=OF_A_CAMPAIGN,
        request=TextsSent,
        sent=SENT,
        answers={201: ControlRow},
        example={**ROW, "kind": "negative", "rate": None},
        refusals=[404, 409, 422],
        parameters=[key_header(required=True)],
    )
    def post(self, request: Request, name: str, pk: int) -> Response:
        return replaced(request, _own(campaign_of(request, name, CHANGE_CONTROLS), pk))


class RetireCampaignControl(APIView):
    @operation(
        "campaign_control_retire",
        "Retire a campaign's control, so that no new HIT contains it",
        tag=TAG,
        description=f"This cannot be undone. {OF_A_CAMPAIGN}",
        request=Nothing,
        sent={},
        answers={200: ControlRow},
        example={**ROW, "kind": "negative", "retired_at": "2026-11-22T10:00:00Z"},
        refusals=[404, 422],
    )
    def post(self, request: Request, name: str, pk: int) -> Response:
        return retired(request, _own(campaign_of(request, name, CHANGE_CONTROLS), pk))


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
        found = control_candidates(campaign_of(request, name)).filter(
            **query(request, ControlCandidateFilter)
        )
        return page(self, found.select_related(*TEXTS), ControlCandidateRow)


class ConfirmControlCandidate(APIView):
    @operation(
        "control_candidate_confirm",
        "Confirm a control candidate with these texts",
        tag=TAG,
        description=OF_THE_POOL,
        request=TextsSent,
        sent=SENT,
        answers={201: ControlRow},
        example={**ROW, "rate": None},
        refusals=[404, 409, 422],
        parameters=[key_header(required=True)],
    )
    def post(self, request: Request, name: str, pk: int) -> Response:
        campaign = campaign_of(request, name, CHANGE_CONTROLS)
        require(request, CHANGE_CONTROLS)
        found = get_object_or_404(control_candidates(campaign).select_related(*TEXTS), pk=pk)
        texts = Texts(**body(request, TextsSent))

        def execute() -> Done:
            by = by_api(user_of(request))
            return made(operations.confirm_candidate(by, campaign, found, texts))

        return once(request, execute)


class DismissControlCandidate(APIView):
    @operation(
        "control_candidate_dismiss",
        "Dismiss a control candidate, so that it is not proposed again",
        tag=TAG,
        description=OF_A_CAMPAIGN,
        request=Nothing,
        sent={},
        answers={200: ControlCandidateRow},
        example={**CANDIDATE, "state": "dismissed"},
        refusals=[404, 422],
    )
    def post(self, request: Request, name: str, pk: int) -> Response:
        campaign = campaign_of(request, name, CHANGE_CONTROLS)
        found = get_object_or_404(control_candidates(campaign).select_related(*TEXTS), pk=pk)
        body(request, Nothing)
        operations.dismiss_candidate(by_api(user_of(request)), campaign, found)
        found.refresh_from_db(fields=["state", "decided_by", "decided_at"])
        return Response(ControlCandidateRow(found).data)


def _own(campaign: Campaign, pk: int) -> Control:
    return get_object_or_404(campaign.controls.select_related("campaign"), pk=pk)


def _total(figures: Figures, kind: str) -> dict[str, Any] | None:
    if kind not in figures:
        return None
    counts = figures[kind]
    rate = ControlRate(0, counts["answered"], counts["right"], 0)
    return {**counts, "share": rate.share}
