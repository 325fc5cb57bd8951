"""Who has which part in a campaign."""

from typing import Any

from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.audit_log import by_api
from annotation.access.roles import GRANT
from annotation.api.base.access import campaign_of, user_of
from annotation.models import Role
from annotation.operations.roles import account_called, give_role, take_role
from core.rest.fields import Text
from core.rest.openapi import operation
from core.rest.pagination import KeyPages, page
from core.rest.parsing import body

TAG = "roles"
TAKES = f"Takes the permission `{GRANT}`."


class RoleOf(serializers.Serializer[Role]):
    id = serializers.IntegerField(source="pk")
    account = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(source="name", choices=Role.Name.choices)
    created_at = serializers.DateTimeField()


class RoleGiven(serializers.Serializer[dict[str, Any]]):
    account = Text(max_length=150, help_text="its user name")
    role = serializers.ChoiceField(choices=Role.Name.choices)


ROW = {"id": 4, "account": "cleo", "role": "adjudicator", "created_at": "2026-11-22T10:00:00Z"}


class Roles(APIView):
    pagination_class = KeyPages

    @operation(
        "role_list",
        "Who has which role in a campaign",
        tag=TAG,
        description=f"Roles that hold in all campaigns are not among them. {TAKES}",
        answers={200: RoleOf(many=True)},
        example=ROW,
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name, GRANT)
        return page(self, campaign.roles.select_related("user"), RoleOf)

    @operation(
        "role_give",
        "Give an account a role, in place of the one that it has there",
        tag=TAG,
        description=f"Sent again it is refused, for it is so already: no key is needed. {TAKES}",
        request=RoleGiven,
        sent={"account": "cleo", "role": "adjudicator"},
        answers={201: RoleOf},
        example=ROW,
        refusals=[404, 422],
    )
    def post(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name, GRANT)
        wanted = body(request, RoleGiven)
        user = account_called(wanted["account"])
        give_role(campaign, user, wanted["role"], by=by_api(user_of(request)))
        return Response(RoleOf(campaign.roles.get(user=user)).data, status=201)


class OneRole(APIView):
    @operation(
        "role_take",
        "Take an account's role in a campaign",
        tag=TAG,
        description=f"A campaign keeps an owner. {TAKES}",
        answers={204: None},
        example=None,
        refusals=[404, 422],
    )
    def delete(self, request: Request, name: str, pk: int) -> Response:
        campaign = campaign_of(request, name, GRANT)
        role = get_object_or_404(campaign.roles.select_related("user"), pk=pk)
        take_role(campaign, role.user, by=by_api(user_of(request)))
        return Response(status=204)
