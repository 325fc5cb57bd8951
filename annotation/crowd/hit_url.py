"""The address of a HIT's page: the path that we sign, and the parameters that the crowd appends."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from django.conf import settings
from django.core.signing import Signer
from django.urls import reverse

from annotation.crowd.mturk.endpoints import (
    MTURK_SANDBOX_SITE,
    MTURK_SITE,
    origin_of,
    site_of,
    spellings,
)

PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"  # what MTurk sends before the worker has accepted

_CROWD_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class BadVisit(Exception):
    """The page was opened with parameters that no crowd sends; one sentence for the reader."""


@dataclass(frozen=True)
class Visit:
    """Who opens the page, as far as the address can be believed: nothing here is proven."""

    assignment_id: str  # empty: a preview
    worker_id: str  # empty: not told, or not in the form of an id
    submit_origin: str


def hit_url(key: str) -> str:
    return f"{settings.PUBLIC_URL}{_path(key)}"


def preview_path(key: str) -> str:
    """As the crowd shows it before somebody has accepted it, at whatever name the site has."""
    return f"{_path(key)}?assignmentId={PREVIEW}"


def _path(key: str) -> str:
    return reverse("hit", args=[_signer().sign(key)])


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
    configured = site_of(settings.MTURK_ENDPOINT)
    if not asked:
        return configured
    for allowed in (*spellings(configured), MTURK_SITE, MTURK_SANDBOX_SITE):
        if origin_of(asked) == allowed:
            return allowed
    raise BadVisit(
        "This page was asked to send the answers to a place that is not the crowd's"
        " (turkSubmitTo): please open the HIT again from the list of HITs."
    )
