"""Assignments: what workers have submitted, and what the review found."""

from typing import Any

from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.roles import SEE_VOTES
from annotation.api.base.access import campaign_of
from annotation.api.base.filters import parameters, read_filter
from annotation.models import Assignment, Judgment
from annotation.web.base.filters import AssignmentFilter
from core.rest.openapi import operation
from core.rest.pagination import KeyPages, page

TAG = "workers"


class AssignmentRow(serializers.Serializer[Assignment]):
    id = serializers.IntegerField(source="pk")
    crowd_id = serializers.CharField(help_text="the crowd's id, which bonuses refer to")
    hit = serializers.IntegerField(source="hit.number")
    worker = serializers.CharField(source="worker.worker_id")
    status = serializers.ChoiceField(choices=Assignment.Status.choices)
    passed = serializers.BooleanField(
        allow_null=True, help_text="whether it passed its controls; null: not reviewed"
    )
    rejection = serializers.CharField(
        help_text="why its votes do not count: unanswered, missed (controls) or manual (a person "
        "rejected it); empty: it did not fail and is not rejected"
    )
    paid = serializers.CharField(
        source="account",
        help_text="what became of its money: paid, discarded or released; empty: still reserved",
    )
    accepted_at = serializers.DateTimeField()
    submitted_at = serializers.DateTimeField()


class JudgmentRow(serializers.Serializer[Judgment]):
    position = serializers.IntegerField(source="item.position")
    triplet = serializers.IntegerField(source="triplet_id", allow_null=True)
    value = serializers.IntegerField(help_text="0 or 1")


class AssignmentRead(AssignmentRow):
    judgments = serializers.SerializerMethodField()

    def get_judgments(self, assignment: Assignment) -> list[dict[str, Any]]:
        rows = assignment.judgments.select_related("item").order_by("item__position")
        return [dict(JudgmentRow(row).data) for row in rows]


ROW = {
    "id": 501,
    "crowd_id": "3XYZ",
    "hit": 12,
    "worker": "A1B2C3",
    "status": "approved",
    "passed": True,
    "rejection": "",
    "paid": "paid",
    "accepted_at": "2026-11-22T10:04:00Z",
    "submitted_at": "2026-11-22T10:06:30Z",
}


class Assignments(APIView):
    pagination_class = KeyPages

    @operation(
        "assignment_list",
        "List a campaign's submitted assignments",
        tag=TAG,
        parameters=parameters(AssignmentFilter),
        answers={200: AssignmentRow(many=True)},
        example=ROW,
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        assignments = Assignment.with_rejection(
            Assignment.objects.filter(hit__campaign=campaign_of(request, name, SEE_VOTES))
        )
        rows = read_filter(request, AssignmentFilter, assignments.select_related("hit", "worker"))
        return page(self, rows, AssignmentRow)


class OneAssignment(APIView):
    @operation(
        "assignment_read",
        "Show an assignment with its judgments",
        tag=TAG,
        answers={200: AssignmentRead},
        example={**ROW, "judgments": [{"position": 0, "triplet": 77, "value": 1}]},
        refusals=[404],
    )
    def get(self, request: Request, name: str, pk: int) -> Response:
        campaign = campaign_of(request, name, SEE_VOTES)
        assignments = Assignment.with_rejection(
            Assignment.objects.select_related("hit", "worker").filter(hit__campaign=campaign)
        )
        return Response(AssignmentRead(get_object_or_404(assignments, pk=pk)).data)
