"""HITs: what workers are given, and how far each is."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.roles import SEE_VOTES
from annotation.analytics.quality.hit_states import HitState, with_state
from annotation.api.base.access import campaign_of
from annotation.api.base.filters import parameters, read_filter
from annotation.models import Hit, HitItem
from annotation.web.base.filters import HitFilter
from core.rest.openapi import operation
from core.rest.pagination import KeyPages, page

TAG = "HITs"
KINDS = ("triplet", "positive", "negative")


class HitRow(serializers.Serializer[Hit]):
    number = serializers.IntegerField(help_text="the HIT's number within the campaign")
    crowd_id = serializers.CharField(allow_null=True)
    state = serializers.ChoiceField(source="condition", choices=HitState.choices)
    repack = serializers.BooleanField(
        help_text="whether it holds triplets of other HITs that are judged again"
    )
    max_assignments = serializers.IntegerField(help_text="assignments requested so far")
    tie_reserve = serializers.IntegerField(help_text="assignments reserved to break ties")
    price_cents = serializers.IntegerField(
        help_text="cost of one approved assignment, including the fee"
    )
    published_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)
    closed_at = serializers.DateTimeField(allow_null=True)
    gone = serializers.BooleanField(help_text="whether the crowd has deleted the HIT")
    fault = serializers.CharField(
        help_text="why the HIT's record could not be read; empty: it was read"
    )


class Item(serializers.Serializer[HitItem]):
    position = serializers.IntegerField()
    kind = serializers.SerializerMethodField(
        help_text="a triplet, or a positive or negative control"
    )
    triplet = serializers.IntegerField(source="triplet_id", allow_null=True)
    query = serializers.SerializerMethodField()
    question = serializers.SerializerMethodField()
    answer = serializers.SerializerMethodField()
    expected = serializers.SerializerMethodField(
        help_text="the control's expected answer; null: not known"
    )
    status = serializers.SerializerMethodField(help_text="for a triplet")
    label = serializers.SerializerMethodField(help_text="for a triplet that has a label")  # type: ignore[assignment]

    def get_kind(self, item: HitItem) -> str:
        return item.control.kind if item.control else "triplet"

    def get_query(self, item: HitItem) -> str:
        return item.control.query if item.control else _triplet(item).candidate.query.text

    def get_question(self, item: HitItem) -> str:
        return item.control.question if item.control else _triplet(item).candidate.pair.question

    def get_answer(self, item: HitItem) -> str:
        return item.control.answer if item.control else _triplet(item).candidate.pair.answer

    def get_expected(self, item: HitItem) -> int | None:
        return item.control.expected if item.control else None

    def get_status(self, item: HitItem) -> str | None:
        return item.triplet.status if item.triplet else None

    def get_label(self, item: HitItem) -> int | None:
        return item.triplet.label if item.triplet else None


class HitRead(HitRow):
    instructions = serializers.IntegerField(source="instructions.version")
    items = serializers.SerializerMethodField()

    def get_items(self, hit: Hit) -> list[dict[str, Any]]:
        texts = "control", "triplet__candidate__query", "triplet__candidate__pair"
        items = hit.items.select_related(*texts).order_by("position")
        return [dict(Item(item).data) for item in items]


ROW = {
    "number": 12,
    "crowd_id": "3ABC",
    "state": "open",
    "repack": False,
    "max_assignments": 2,
    "tie_reserve": 1,
    "price_cents": 19,
    "published_at": "2026-11-22T10:00:00Z",
    "expires_at": "2026-11-29T10:00:00Z",
    "closed_at": None,
    "gone": False,
    "fault": "",
}
ITEM = {
    "position": 0,
    "kind": "triplet",
    "triplet": 77,
    "query": "How is bread made?",
    "question": "how do I bake bread",
    "answer": "Of flour, water, yeast and salt.",
    "expected": None,
    "status": "labelled",
    "label": 1,
}


class NumberPages(KeyPages):
    """In the order of their numbers, which the indexes of HITs know."""

    ordering = "number"


class Hits(APIView):
    pagination_class = NumberPages

    @operation(
        "hit_list",
        "List a campaign's HITs",
        tag=TAG,
        parameters=parameters(HitFilter),
        answers={200: HitRow(many=True)},
        example=ROW,
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        hits = with_state(campaign_of(request, name, SEE_VOTES).hits.all(), timezone.now())
        return page(self, read_filter(request, HitFilter, hits), HitRow, pages=NumberPages)


class OneHit(APIView):
    @operation(
        "hit_read",
        "Show a HIT with its items",
        tag=TAG,
        answers={200: HitRead},
        example={**ROW, "instructions": 1, "items": [ITEM]},
        refusals=[404],
    )
    def get(self, request: Request, name: str, number: int) -> Response:
        own = campaign_of(request, name, SEE_VOTES).hits.select_related("instructions")
        hits = with_state(own, timezone.now())
        return Response(HitRead(get_object_or_404(hits, number=number)).data)


def _triplet(item: HitItem) -> Any:
    """Of an item that is no control."""
    return item.triplet
