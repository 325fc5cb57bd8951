"""Tokens for programs: asked for with name and password, listed, and taken back."""

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.http import Http404
from knox.models import AuthToken
from knox.settings import knox_settings
from rest_framework import serializers
from rest_framework.permissions import AllowAny, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.audit_log import Via, by_api, record
from annotation.api.base.access import user_of
from annotation.web.account.sign_in import SignInForm
from core.rest.fields import Text, Whole
from core.rest.openapi import operation
from core.rest.parsing import body
from core.rest.problems import Refusal

MOST_DAYS = 365
USUAL_DAYS: int = knox_settings.TOKEN_TTL.days
WRONG = "The name or the password is wrong, or the account is not active."


class Wanted(serializers.Serializer[dict[str, Any]]):
    name = Text(max_length=150)
    password = Text(max_length=4096, trim_whitespace=False, style={"input_type": "password"})
    days = Whole(
        min_value=1,
        max_value=MOST_DAYS,
        default=USUAL_DAYS,
        help_text="how long the token is valid",
    )


class TokenRow(serializers.Serializer[AuthToken]):
    id = serializers.CharField(source="token_key", help_text="the first characters of the token")
    created = serializers.DateTimeField()
    expiry = serializers.DateTimeField(allow_null=True)


class NewToken(TokenRow):
    token = serializers.CharField(help_text="shown once: Quorum stores only its digest")


ROW = {
    "id": "0123456789abcde",
    "created": "2026-11-22T10:00:00Z",
    "expiry": "2026-12-22T10:00:00Z",
}


class Tokens(APIView):
    permission_classes = [IsAuthenticated]

    def get_authenticators(self) -> list[Any]:
        """A person who asks for a token has none: a name and a password count alone."""
        return (
            [] if self.request and self.request.method == "POST" else super().get_authenticators()
        )

    def get_permissions(self) -> Any:
        post = self.request is not None and self.request.method == "POST"
        return [AllowAny()] if post else super().get_permissions()

    @operation(
        "token_list",
        "Your tokens",
        tag="sign-in",
        answers={200: TokenRow(many=True)},
        example=ROW,
    )
    def get(self, request: Request) -> Response:
        mine = AuthToken.objects.filter(user=user_of(request)).order_by("created")
        return Response(TokenRow(mine, many=True).data)

    @operation(
        "token_create",
        "Get a token for a user name and password",
        tag="sign-in",
        description="Limits on failed attempts are those of the sign-in page: after too many, "
        "wait 15 minutes.",
        request=Wanted,
        sent={"name": "ada", "password": "…", "days": 30},
        answers={201: NewToken},
        example={**ROW, "token": "0123456789abcdef" * 4},
        auth=[],
    )
    def post(self, request: Request) -> Response:
        wanted = body(request, Wanted)
        user = _signed_in(request, wanted)
        with transaction.atomic():
            made, token = AuthToken.objects.create(user, expiry=timedelta(days=wanted["days"]))
            details = {"id": made.token_key, "days": wanted["days"]}
            record(by_api(user), "create-token", subject=user.get_username(), details=details)
        made.token = token
        return Response(NewToken(made).data, status=201)


class Token(APIView):
    permission_classes = [IsAuthenticated]

    @operation(
        "token_revoke",
        "Revoke one of your tokens",
        tag="sign-in",
        answers={204: None},
        example=None,
        refusals=[404],
    )
    def delete(self, request: Request, key: str) -> Response:
        user = user_of(request)
        with transaction.atomic():
            if not AuthToken.objects.filter(user=user, token_key=key).delete()[0]:
                raise Http404
            subject = user.get_username()
            record(by_api(user), "delete-token", subject=subject, details={"id": key})
        return Response(status=204)


class ProgramSignIn(SignInForm):
    via = Via.API


def _signed_in(request: Request, wanted: dict[str, Any]) -> User:
    """By the sign-in page's own form, so that its limits hold for both together."""
    given = {"username": wanted["name"], "password": wanted["password"]}
    form = ProgramSignIn(request._request, data=given)
    if form.is_valid():
        return form.get_user()
    if form.has_error("__all__", "too_many"):
        raise Refusal(429, " ".join(map(str, form.non_field_errors())))
    raise Refusal(401, WRONG)
