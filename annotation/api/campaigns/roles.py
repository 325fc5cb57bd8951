"""Who has which part in a campaign."""

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.roles import GRANT
from annotation.api.base.access import campaign_of
from annotation.models import Role
from core.rest.openapi import operation
from core.rest.pagination import KeyPages, page

TAG = "roles"


class RoleOf(serializers.Serializer[Role]):
    id = serializers.IntegerField(source="pk")
    username = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(source="name", choices=Role.Name.values)
    created_at = serializers.DateTimeField()


ROW = {"id": 4, "username": "cleo", "role": "adjudicator", "created_at": "2026-11-22T10:00:00Z"}


class Roles(APIView):
    pagination_class = KeyPages

    @operation(
        "role_list",
        "List the roles in a campaign",
        tag=TAG,
        description="Roles that apply to every campaign are not listed. Requires the permission "
        f"`{GRANT}`.",
        answers={200: RoleOf(many=True)},
        example=ROW,
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name, GRANT)
        return page(self, campaign.roles.select_related("user"), RoleOf)
