"""Links by which panels send people to a campaign, and what became of those."""

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.roles import MANAGE_WORKERS
from annotation.analytics.workers.panel_visits import APPROVE, REJECT, WAIT, PanelVisit, visits_by
from annotation.api.base.access import campaign_of
from annotation.crowd.inhouse.models import PanelLink
from annotation.crowd.inhouse.visits import links_to
from annotation.operations.campaign.panels import url_of
from core.rest.openapi import operation
from core.rest.pagination import KeyPages, page

TAG = "workers"


class LinkOf(serializers.Serializer[PanelLink]):
    id = serializers.IntegerField(source="pk")
    key = serializers.CharField()
    panel = serializers.CharField()
    url = serializers.SerializerMethodField(help_text="The address that the panel is given.")
    parameter = serializers.CharField(help_text="Of the address; it holds the participant's ID.")
    tasks = serializers.IntegerField(help_text="Of one visit.")
    code = serializers.CharField(help_text="Empty: each participant has one of their own.")
    note = serializers.CharField()
    closed_at = serializers.DateTimeField(allow_null=True)

    def get_url(self, link: PanelLink) -> str:
        return url_of(link)


class VisitOf(serializers.Serializer[PanelVisit]):
    id = serializers.IntegerField(source="visit.pk")
    participant = serializers.CharField(source="person", help_text="Empty: it was deleted.")
    worker = serializers.CharField()
    code = serializers.CharField(source="visit.code")
    arrived_at = serializers.DateTimeField(source="visit.arrived_at")
    finished_at = serializers.DateTimeField(source="visit.finished_at", allow_null=True)
    tasks = serializers.IntegerField(source="done.handed_in")
    approved = serializers.IntegerField(source="done.approved")
    rejected = serializers.IntegerField(source="done.rejected")
    earned = serializers.CharField()
    decision = serializers.ChoiceField(choices=[APPROVE, REJECT, WAIT])
    why = serializers.CharField()


LINK = {
    "id": 3,
    "key": "0f343b0931126a20f133d67c2b018a3b",
    "panel": "connect",
    "url": "https://quorum.example.org/panel/0f343b0931126a20f133d67c2b018a3b",
    "parameter": "participantId",
    "tasks": 5,
    "code": "",
    "note": "autumn",
    "closed_at": None,
}
VISIT = {
    "id": 12,
    "participant": "P7",
    "worker": "K3M9Q2X7B1ZD",
    "code": "ACDEFGHJKL",
    "arrived_at": "2026-11-28T10:00:00Z",
    "finished_at": "2026-11-28T10:09:00Z",
    "tasks": 5,
    "approved": 5,
    "rejected": 0,
    "earned": "$0.75",
    "decision": APPROVE,
    "why": "5 of 5 tasks approved",
}


class Links(APIView):
    pagination_class = KeyPages

    @operation(
        "panel_link_list",
        "List the links by which panels send people",
        tag=TAG,
        description=f"Requires the permission `{MANAGE_WORKERS}`.",
        answers={200: LinkOf(many=True)},
        example=LINK,
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name, MANAGE_WORKERS)
        return page(self, links_to(campaign.hit_type_id), LinkOf)


class Visits(APIView):
    @operation(
        "panel_visit_list",
        "List the participants who came by a link, and whom to approve",
        tag=TAG,
        description=f"In the order of arrival. Requires the permission `{MANAGE_WORKERS}`.",
        answers={200: VisitOf(many=True)},
        example=[VISIT],
        refusals=[404],
    )
    def get(self, request: Request, name: str, key: str) -> Response:
        campaign = campaign_of(request, name, MANAGE_WORKERS)
        link = links_to(campaign.hit_type_id).filter(key=key).first()
        if link is None:
            raise Http404
        rows = [VisitOf(visit).data for visit in visits_by(link, campaign)]
        return Response(rows)
