"""Who is asking, and what they may do."""

from typing import Any

from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.roles import PERMISSIONS
from annotation.api.base.access import user_of
from annotation.models import Role
from core.rest.openapi import operation


class RoleRow(serializers.Serializer[Role]):
    campaign = serializers.CharField(
        source="campaign.name", default=None, allow_null=True, help_text="null: all campaigns"
    )
    role = serializers.ChoiceField(source="name", choices=Role.Name.values)
    permissions = serializers.SerializerMethodField()

    def get_permissions(self, role: Role) -> list[str]:
        return sorted(PERMISSIONS[role.name])


class Account(serializers.Serializer[dict[str, Any]]):
    name = serializers.CharField()
    staff = serializers.BooleanField(help_text="whether the account can read all campaigns")
    superuser = serializers.BooleanField(help_text="whether the account can do everything")
    permissions = serializers.ListField(
        child=serializers.CharField(), help_text="permissions that apply to every campaign"
    )
    roles = RoleRow(many=True)


class Me(APIView):
    permission_classes = [IsAuthenticated]

    @operation(
        "me",
        "Show your account and your roles",
        tag="sign-in",
        answers={200: Account},
        example={
            "name": "ada",
            "staff": False,
            "superuser": False,
            "permissions": [],
            "roles": [
                {
                    "campaign": "faq",
                    "role": "viewer",
                    "permissions": [
                        "annotation.view_campaign",
                        "annotation.view_judgment",
                        "exports.download_release",
                    ],
                }
            ],
        },
    )
    def get(self, request: Request) -> Response:
        user = user_of(request)
        roles = Role.objects.filter(user=user).select_related("campaign").order_by("pk")
        account = {
            "name": user.get_username(),
            "staff": user.is_staff,
            "superuser": user.is_superuser,
            "permissions": sorted(user.get_all_permissions()),
            "roles": roles,
        }
        return Response(Account(account).data)
