"""The pairs of a source, and one pair by itself."""

from typing import Any

from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.rest.openapi import operation
from core.rest.pagination import TextPages, page
from core.rest.parsing import query
from retrieval.api.access import MayViewCorpus
from retrieval.corpus.pair_reader import MAX_ID, MAX_SOURCE
from retrieval.models import QaPair

TAG = "database"


class PairRow(serializers.Serializer[QaPair]):
    id = serializers.IntegerField(source="pk")
    key = serializers.CharField(source="pair_key", help_text="sha256 of the pair's texts")
    source = serializers.CharField()  # type: ignore[assignment]
    source_id = serializers.CharField(help_text="the pair's id within its source")
    question = serializers.CharField()
    answer = serializers.CharField()
    license = serializers.CharField(help_text="empty: not known")
    withdrawn_at = serializers.DateTimeField(allow_null=True)


class OfSource(serializers.Serializer[dict[str, Any]]):
    source = serializers.CharField(max_length=MAX_SOURCE)  # type: ignore[assignment]


ROW = {
    "id": 4012,
    "key": "0" * 64,
    "source": "faq",
    "source_id": "17",
    "question": "how do I bake bread",
    "answer": "Of flour, water, yeast and salt.",
    "license": "CC-BY-4.0",
    "withdrawn_at": None,
}


class BySourceId(TextPages):
    """As the database keeps them, so that the last page costs as much as the first."""

    ordering = "source_id"
    longest = MAX_ID


class Pairs(APIView):
    permission_classes = [MayViewCorpus]
    pagination_class = BySourceId

    @operation(
        "pair_list",
        "List the pairs of a source, by id",
        tag=TAG,
        parameters=[OfSource],
        answers={200: PairRow(many=True)},
        example=ROW,
    )
    def get(self, request: Request) -> Response:
        pairs = QaPair.objects.filter(source=query(request, OfSource)["source"])
        return page(self, pairs, PairRow, pages=BySourceId)


class Pair(APIView):
    permission_classes = [MayViewCorpus]

    @operation(
        "pair_read",
        "A pair",
        tag=TAG,
        answers={200: PairRow},
        example=ROW,
        refusals=[404],
    )
    def get(self, request: Request, pk: int) -> Response:
        return Response(PairRow(get_object_or_404(QaPair.objects.all(), pk=pk)).data)
