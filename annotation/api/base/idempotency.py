"""A request that spends or creates is carried out once, however often it is sent.

1. The key is written down first, with what was asked for by it.
2. Its row is held while the operation runs and the answer is kept: one transaction for all three.
3. Sent again, the kept answer comes back. What was cut off has done nothing, and is done then.
"""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from rest_framework.exceptions import ValidationError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.base.access import user_of
from annotation.models import Request as Asked
from core.rest.problems import Refusal

HEADER = "Idempotency-Key"
KEY = re.compile(r"[!-~]{1,200}")
NO_KEY = (
    f"Send a header {HEADER} of 1 to 200 visible ASCII characters, your own name for this request:"
    " sent again with it, nothing is done twice."
)
OTHER = f"This {HEADER} was used for another request: take a new one."
UNDER_WAY = f"The request with this {HEADER} is under way: ask again in a moment."


@dataclass(frozen=True)
class Done:
    """What an operation answers; `location`: where its work can be watched."""

    status: int
    data: Any
    location: str = ""


def once(request: Request, execute: Callable[[], Done], *, files: Sequence[str] = ()) -> Response:
    """The operation's answer, of now or of before. It is one transaction; a refusal is not kept.

    `files`: the digests of those that came with the request.
    """
    key, digest = _key(request), _digest(request, files)
    asked, _ = Asked.objects.get_or_create(
        user=user_of(request), key=key, defaults={"digest": digest}
    )
    if asked.digest != digest:
        raise Refusal(422, OTHER)
    with transaction.atomic():
        # SQLite has one writer at a time: there it waits for the other one instead.
        held = Asked.objects.select_for_update(skip_locked=True).filter(pk=asked.pk).first()
        if held is None:
            raise Refusal(409, UNDER_WAY)
        if held.status is None:
            _keep(held, execute())
    kept: dict[str, Any] = held.answer or {}
    headers = {"Location": kept["location"]} if kept["location"] else None
    return Response(kept["data"], status=held.status, headers=headers)


def _keep(held: Asked, done: Done) -> None:
    held.status = done.status
    plain = json.loads(JSONRenderer().render(done.data))
    held.answer = {"data": plain, "location": done.location}
    held.save(update_fields=["status", "answer"])


def check_key(request: Request) -> None:
    """Where nothing is done yet none is needed; one that is sent has to be one."""
    if HEADER in request.headers:
        _key(request)


def _key(request: Request) -> str:
    key = request.headers.get(HEADER, "")
    if not KEY.fullmatch(key):
        raise ValidationError({HEADER: [NO_KEY]})
    return key


def _digest(request: Request, files: Sequence[str]) -> str:
    sent = " ".join([json.dumps(request.data, sort_keys=True), *files])
    return hashlib.sha256(f"{request.method} {request.path} {sent}".encode()).hexdigest()
