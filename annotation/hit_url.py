"""The address of a HIT's page: the path that we sign, and the parameters that the crowd appends."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings
from django.core.signing import Signer
from django.urls import reverse

PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"  # what MTurk sends before the worker has accepted
MTURK_SITE = "https://www.mturk.com"
MTURK_SANDBOX_SITE = "https://workersandbox.mturk.com"
SUBMIT_PATH = "/mturk/externalSubmit"

_CROWD_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_LOOPBACK = {"127.0.0.1", "localhost"}


class BadVisit(Exception):
    """The page was opened with parameters that no crowd sends; one sentence for the reader."""


@dataclass(frozen=True)
class Visit:
    """Who opens the page, as far as the address can be believed: nothing here is proven."""

    assignment_id: str  # empty: a preview
    worker_id: str  # empty: not told, or not in the form of an id
    submit_origin: str


def hit_url(key: str) -> str:
    path = reverse("hit", args=[_signer().sign(key)])
    return f"{settings.PUBLIC_URL}{path}"


def read_hit_key(signed: str) -> str:
    """Raises django.core.signing.BadSignature."""
    return _signer().unsign(signed)


def _signer() -> Signer:
    return Signer(salt="hit")


def read_visit(parameters: Mapping[str, str]) -> Visit:
    """Raises BadVisit."""
    assignment_id = parameters.get("assignmentId", "")
    if assignment_id and not _CROWD_ID.fullmatch(assignment_id):
        raise BadVisit(
            "The assignmentId in this page's address is not one that a crowd gives out:"
            " please open the HIT again from the list of HITs."
        )
    worker_id = parameters.get("workerId", "")
    return Visit(
        assignment_id="" if assignment_id == PREVIEW else assignment_id,
        worker_id=worker_id if _CROWD_ID.fullmatch(worker_id) else "",
        submit_origin=_submit_origin(parameters.get("turkSubmitTo", "")),
    )


def _submit_origin(asked: str) -> str:
    """The submit target that the crowd asks for, taken from our own list of them."""
    configured = crowd_site(settings.MTURK_ENDPOINT)
    if not asked:
        return configured
    for allowed in (*spellings(configured), MTURK_SITE, MTURK_SANDBOX_SITE):
        if _origin(asked) == allowed:
            return allowed
    raise BadVisit(
        "This page was asked to send the answers to a place that is not the crowd's"
        " (turkSubmitTo): please open the HIT again from the list of HITs."
    )


def crowd_site(endpoint: str) -> str:
    """Where the workers of an MTurk endpoint submit: its own origin where it is not Amazon's."""
    origin = _origin(endpoint) or endpoint
    host = origin.partition("://")[2].partition(":")[0]
    if not host.endswith((".amazonaws.com", ".api.aws")):
        return origin
    return MTURK_SANDBOX_SITE if host.startswith("mturk-requester-sandbox.") else MTURK_SITE


def spellings(origin: str) -> tuple[str, ...]:
    """The origin and, for a server on this machine, its other names: people type either."""
    scheme, _, rest = origin.partition("://")
    host, colon, port = rest.partition(":")
    if host not in _LOOPBACK:
        return (origin,)
    return tuple(f"{scheme}://{name}{colon}{port}" for name in (host, *_LOOPBACK - {host}))


def _origin(url: str) -> str | None:
    """scheme://host[:port] in one spelling; None where `url` is not an address of a web server."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or parts.username is not None:
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    shown = "" if port in {None, _DEFAULT_PORTS[parts.scheme]} else f":{port}"
    return f"{parts.scheme}://{host}{shown}"
