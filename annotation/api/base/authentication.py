"""Signing in to the API by a token; sessions are REST framework's own way, with its CSRF check."""

import re

from knox.auth import TokenAuthentication
from rest_framework.exceptions import AuthenticationFailed

TOKEN = re.compile(rb"[0-9a-f]{64}")
NOT_VALID = "This token is not valid or has expired. Get a new one at /api/v1/tokens."


class BearerToken(TokenAuthentication):  # type: ignore[misc]
    """`Authorization: Bearer TOKEN`; what cannot be a token is not looked up."""

    def authenticate_credentials(self, token: bytes) -> object:
        if not TOKEN.fullmatch(token):
            raise AuthenticationFailed(NOT_VALID)
        try:
            return super().authenticate_credentials(token)
        except AuthenticationFailed as error:
            raise AuthenticationFailed(NOT_VALID) from error
