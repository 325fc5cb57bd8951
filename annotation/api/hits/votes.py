"""The votes on a triplet: which of them count, and how its label follows."""

from typing import Any

from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.roles import triplets_seen_by
from annotation.analytics.quality.label_derivation import Vote, derivation, votes_on
from annotation.api.base.access import campaign_of
from annotation.api.hits.triplets import BLIND
from core.rest.openapi import operation

TAG = "labels"


class VoteRow(serializers.Serializer[Vote]):
    worker = serializers.CharField(source="judgment.worker.worker_id")
    assignment = serializers.IntegerField(source="judgment.assignment_id")
    hit = serializers.IntegerField(source="judgment.assignment.hit.number")
    value = serializers.IntegerField(source="judgment.value", help_text="0 or 1")
    submitted_at = serializers.DateTimeField(source="judgment.assignment.submitted_at")
    void = serializers.CharField(help_text="why the vote does not count; empty: it counts")


class VotesAnswer(serializers.Serializer[dict[str, Any]]):
    votes = VoteRow(many=True)
    derivation = serializers.ListField(
        child=serializers.CharField(),
        help_text="how the label follows from the votes, in sentences",
    )


class Votes(APIView):
    @operation(
        "triplet_votes",
        "Show the votes on a triplet and how its label follows from them",
        tag=TAG,
        description=BLIND,
        answers={200: VotesAnswer},
        example={
            "votes": [
                {
                    "worker": "A1B2C3",
                    "assignment": 501,
                    "hit": 12,
                    "value": 1,
                    "submitted_at": "2026-11-22T10:06:30Z",
                    "void": "",
                }
            ],
            "derivation": ["1 of 1 votes count: 1 Yes, 0 No."],
        },
        refusals=[404],
    )
    def get(self, request: Request, name: str, pk: int) -> Response:
        campaign = campaign_of(request, name)
        triplet = get_object_or_404(triplets_seen_by(request.user, campaign), pk=pk)
        votes = votes_on(campaign, triplet)
        answer = {"votes": votes, "derivation": derivation(campaign, triplet, votes)}
        return Response(VotesAnswer(answer).data)
