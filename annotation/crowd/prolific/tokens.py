"""Secured links: Prolific signs who was sent to which study, in a token of the address.

Its keys are public. They are asked for when a token names one that is not known, and once a day.
"""

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import datetime
from functools import cache, partial
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

import httpx
from django.conf import settings
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet, RSAKey

from annotation.crowd.port import CrowdError, NotSent
from annotation.crowd.prolific.connection import ProlificConnection
from annotation.crowd.prolific.models import Study

PARAMETER = "prolific_token"
NAMES = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")  # what the address says of who comes
ISSUER = "https://www.prolific.com"
KEYS = "/.well-known/study/jwks.json"
CLOCKS_DIFFER = 60  # seconds at most
MINUTE, DAY = 60.0, 86_400.0
_TIMEOUT = httpx.Timeout(4.0, connect=2.0)  # somebody waits for the page
PATIENCE = 2.0  # seconds that others wait for the same answer

log = logging.getLogger(__name__)


def check_sent(study: Study, given: Mapping[str, str], now: datetime) -> None:
    """That Prolific sent them. NotSent; CrowdError where its keys cannot be read now.

    `given`: the parameters of the address.
    """
    keys = published_keys(settings.PROLIFIC_ENDPOINT)
    try:
        token = jwt.decode(
            given.get(PARAMETER, ""),
            lambda signed: keys.named(signed.headers().get("kid")),
            algorithms=["RS256"],
        )
        _claims(given, now).validate(token.claims)
    except (JoseError, ValueError, TypeError) as error:  # the latter of headers of a wrong kind
        raise NotSent(f"Prolific's token does not hold: {error}") from error
    _check_names(token.claims["prolific"], given, study)
    _check_workspace(token.claims.get("workspace_id"), study)
    _check_host(token.claims["aud"])


def _claims(given: Mapping[str, str], now: datetime) -> jwt.JWTClaimsRegistry:
    return jwt.JWTClaimsRegistry(
        int(now.timestamp()),
        CLOCKS_DIFFER,
        iss={"essential": True, "value": ISSUER},
        sub={"essential": True, "value": given.get("SESSION_ID", "")},
        aud={"essential": True},
        exp={"essential": True},
        prolific={"essential": True},
    )


def _check_names(signed: object, given: Mapping[str, str], study: Study) -> None:
    wanted = {name: given.get(name) for name in NAMES}
    if not isinstance(signed, Mapping) or wanted != {name: signed.get(name) for name in NAMES}:
        raise NotSent("Prolific's token is of another participant.")
    if wanted["STUDY_ID"] != study.study_id:
        raise NotSent("Prolific's token is of another study.")


def _check_workspace(signed: object, study: Study) -> None:
    """Which older tokens do not name."""
    if signed is not None and study.workspace_id and signed != study.workspace_id:
        raise NotSent("Prolific's token is of another workspace.")


def _check_host(audience: str | list[str]) -> None:
    """Of which one page of the documentation shows the whole address, another one the domain."""
    named = [audience] if isinstance(audience, str) else audience
    hosts = {urlsplit(one if "//" in one else f"//{one}").hostname for one in named}
    if urlsplit(settings.PUBLIC_URL).hostname not in hosts:
        raise NotSent("Prolific's token is of another site.")


class Keys:
    """Prolific's, by name; all threads of a process share them."""

    def __init__(self, ask: Callable[[], Any], clock: Callable[[], float] = time.monotonic) -> None:
        self._ask = ask
        self._clock = clock
        self._lock = Lock()
        self._known: dict[str | None, RSAKey] = {}
        self._asked_at = float("-inf")
        self._fault = ""

    def named(self, kid: str | None) -> RSAKey:
        """NotSent where it is none of Prolific's, as far as can be known."""
        if self._is_due(kid):
            self._ask_once(kid)
        if kid in self._known:
            return self._known[kid]
        if self._fault:
            raise CrowdError(self._fault, permanent=False)
        raise NotSent("Prolific's token is signed by nobody's key.")

    def _is_due(self, kid: str | None) -> bool:
        return self._clock() - self._asked_at > (DAY if kid in self._known else MINUTE)

    def _ask_once(self, kid: str | None) -> None:
        """Whoever comes meanwhile by a key that is known goes on; the others wait a little."""
        if not self._lock.acquire(timeout=0 if kid in self._known else PATIENCE):
            if kid in self._known:
                return
            raise CrowdError("Prolific's keys are being read.", permanent=False)
        try:
            if self._is_due(kid):
                self._read()
        finally:
            self._lock.release()

    def _read(self) -> None:
        """What is known stays where the others cannot be read."""
        try:
            keys = KeySet.import_key_set(self._ask()).keys
        except CrowdError as error:
            self._fault = str(error)
        except (JoseError, ValueError, TypeError, LookupError) as error:
            self._fault = f"Prolific's keys cannot be read: {error!r}."
        else:
            self._fault = ""
            self._known = {one.kid: one for one in keys if isinstance(one, RSAKey)}
        self._asked_at = self._clock()  # last: nobody takes it for answered before it is


@cache
def published_keys(endpoint: str) -> Keys:
    return Keys(partial(_ask, endpoint))


def _ask(endpoint: str) -> Any:
    """With the account's token, which one page of the documentation asks for."""
    connection = ProlificConnection(endpoint, settings.PROLIFIC_TOKEN, timeout=_TIMEOUT)
    with closing(connection):
        return connection.get(connection.endpoint + KEYS)
