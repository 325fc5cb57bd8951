"""Triplets with their votes, and the labels that follow from them."""

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.roles import triplets_seen_by
from annotation.api.base.access import campaign_of
from annotation.api.base.filters import parameters, read_filter
from annotation.models import Triplet
from annotation.web.base.filters import LabelFilter, TripletFilter
from core.rest.openapi import operation
from core.rest.pagination import KeyPages, page

TAG = "labels"
TEXTS = ("candidate__query", "candidate__pair")
BLIND = (
    "An adjudicator without another role sees only the triplets that they have labelled themselves."
)


class LabelRow(serializers.Serializer[Triplet]):
    triplet = serializers.IntegerField(source="pk")
    query = serializers.CharField(source="candidate.query.key", help_text="the query's id")
    pair = serializers.IntegerField(source="candidate.pair_id")
    rank = serializers.IntegerField(
        source="candidate.rank", help_text="the retriever's rank, from 1"
    )
    label = serializers.IntegerField(
        help_text="1: both questions ask the same and have the same answer"
    )  # type: ignore[assignment]
    label_source = serializers.ChoiceField(
        choices=Triplet.LabelSource.choices,
        allow_null=True,
        help_text="where the label comes from: the majority of votes, an expert, or an import",
    )
    votes = serializers.IntegerField()
    positive_votes = serializers.IntegerField()
    cannot_judge = serializers.IntegerField(
        help_text="number of annotators who can't judge it: no votes"
    )


class TripletRow(LabelRow):
    label = serializers.IntegerField(allow_null=True)
    status = serializers.ChoiceField(choices=Triplet.Status.choices)
    imported_label = serializers.IntegerField(allow_null=True)
    score = serializers.FloatField(source="candidate.score", allow_null=True)
    query_text = serializers.CharField(source="candidate.query.text")
    question = serializers.CharField(source="candidate.pair.question")
    answer = serializers.CharField(source="candidate.pair.answer")


LABEL = {
    "triplet": 77,
    "query": "q0f3a",
    "pair": 4012,
    "rank": 3,
    "label": 1,
    "label_source": "majority",
    "votes": 3,
    "positive_votes": 2,
    "cannot_judge": 0,
}
ROW = {
    **LABEL,
    "status": "labelled",
    "imported_label": None,
    "score": 0.812345,
    "query_text": "How is bread made?",
    "question": "how do I bake bread",
    "answer": "Of flour, water, yeast and salt.",
}


def _seen(request: Request, name: str) -> QuerySet[Triplet]:
    return triplets_seen_by(request.user, campaign_of(request, name))


class Triplets(APIView):
    pagination_class = KeyPages

    @operation(
        "triplet_list",
        "List a campaign's triplets, with texts and votes",
        tag=TAG,
        description=BLIND,
        parameters=parameters(TripletFilter),
        answers={200: TripletRow(many=True)},
        example=ROW,
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        triplets = _seen(request, name).select_related(*TEXTS)
        return page(self, read_filter(request, TripletFilter, triplets), TripletRow)


class OneTriplet(APIView):
    @operation(
        "triplet_read",
        "A triplet",
        tag=TAG,
        description=BLIND,
        answers={200: TripletRow},
        example=ROW,
        refusals=[404],
    )
    def get(self, request: Request, name: str, pk: int) -> Response:
        triplets = _seen(request, name).select_related(*TEXTS)
        return Response(TripletRow(get_object_or_404(triplets, pk=pk)).data)


class Labels(APIView):
    pagination_class = KeyPages

    @operation(
        "label_list",
        "List a campaign's labels so far",
        tag=TAG,
        description="Labels follow from the valid votes or, where the policy says `decide`, from "
        f"adjudication. They can change while votes come in. {BLIND}",
        parameters=parameters(LabelFilter),
        answers={200: LabelRow(many=True)},
        example=LABEL,
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        triplets = _seen(request, name).select_related("candidate__query")
        labelled = triplets.filter(status=Triplet.Status.LABELLED)
        return page(self, read_filter(request, LabelFilter, labelled), LabelRow)
