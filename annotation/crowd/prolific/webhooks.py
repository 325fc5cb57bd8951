"""Events that Prolific sends: who sent them is checked, and only their ids are believed.

Events come more than once and in any order, and no limit of their age is documented. What has
changed is therefore read through the API, under the ids that an event names.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass

from annotation.crowd.prolific.api.values import ID

SIGNATURE = "X-Prolific-Request-Signature"
TIMESTAMP = "X-Prolific-Request-Timestamp"
EVENT_ID = "X-Event-ID"
MOST_DIGITS = 12
MOST_NAME = 100


class NotGenuine(Exception):
    """A request that Prolific has not sent, or whose event cannot be read: one sentence."""


@dataclass(frozen=True)
class HookEvent:
    event_type: str  # known or not
    resource_id: str  # of a submission or a study, as the type says
    event_id: str  # the same in repeated deliveries; empty where it is missing


def read_event(body: bytes, headers: Mapping[str, str], secret: str) -> HookEvent:
    """Of the bytes as they came. `headers` finds names in any case, or has those above."""
    timestamp = headers.get(TIMESTAMP, "")
    if not is_genuine(
        body, timestamp=timestamp, signature=headers.get(SIGNATURE, ""), secret=secret
    ):
        raise NotGenuine("The signature does not fit: check the webhook secret of the workspace.")
    return _parsed(body, headers.get(EVENT_ID, ""))


def is_genuine(body: bytes, *, timestamp: str, signature: str, secret: str) -> bool:
    """In a time that tells nothing of the right signature."""
    digits = timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= MOST_DIGITS
    if not secret or not digits:
        return False
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return hmac.compare_digest(base64.b64encode(digest), signature.encode("utf-8", "replace"))


def _parsed(body: bytes, event_id: str) -> HookEvent:
    try:
        event = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NotGenuine("The event is not JSON: ignore it.") from error
    event_type, resource_id = (
        (event.get("event_type"), event.get("resource_id"))
        if isinstance(event, dict)
        else (None, None)
    )
    if not isinstance(event_type, str) or not 1 <= len(event_type) <= MOST_NAME:
        raise NotGenuine("The event has no type: ignore it.")
    if not isinstance(resource_id, str) or not ID.fullmatch(resource_id):
        raise NotGenuine("The event names no id of Prolific's: ignore it.")
    return HookEvent(event_type, resource_id, event_id[:MOST_NAME])
