"""Prolific's events: subscribed to once and looked after daily; who sent one is checked.

Events come more than once and in any order, and no limit of their age is documented. What has
changed is therefore read through the API, under the ids that an event names: only these are
believed.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.urls import reverse

from annotation.crowd.port import NotSent
from annotation.crowd.prolific.api.values import ID
from annotation.crowd.prolific.client import ProlificClient
from annotation.crowd.prolific.models import Hook
from annotation.protocol.policy.crowds import PROLIFIC

EVENTS = ("study.status.change", "submission.status.change")
# Prolific disables an address that has failed for five days.
CHECKED = timedelta(days=1)
AGAIN = timedelta(hours=1)  # after a refusal
SIGNATURE = "X-Prolific-Request-Signature"
TIMESTAMP = "X-Prolific-Request-Timestamp"
EVENT_ID = "X-Event-ID"
MOST_DIGITS = 12
MOST_NAME = 100


def hook_url() -> str:
    """Empty where Prolific cannot reach the site: then each pass asks, as it does anyway."""
    is_public = settings.PUBLIC_URL.startswith("https://")
    return settings.PUBLIC_URL + reverse("study-event", args=[PROLIFIC.kind]) if is_public else ""


def keep_subscribed(
    client: ProlificClient, workspace: Callable[[], str], target_url: str, now: datetime
) -> None:
    if not target_url or Hook.objects.filter(checked_at__gt=now - CHECKED).exists():
        return
    workspace_id = workspace()
    hook, _ = Hook.objects.get_or_create(
        workspace_id=workspace_id, defaults={"secret": "", "checked_at": now - CHECKED}
    )
    hook.checked_at = now - CHECKED + AGAIN  # should it be refused
    hook.save()
    made = "" if client.hooks.secrets(workspace_id) else client.hooks.create_secret(workspace_id)
    _subscribe(client, workspace_id, target_url)
    # Read last: another process may have made one in its place.
    hook.secret = next(iter(client.hooks.secrets(workspace_id)), made)
    hook.checked_at = now
    hook.save()


def _subscribe(client: ProlificClient, workspace_id: str, target_url: str) -> None:
    hooks = client.hooks
    ours = {
        one.event_type: one
        for one in hooks.subscriptions(workspace_id)
        if one.target_url == target_url
    }
    for event_type in EVENTS:
        if event_type not in ours:
            hooks.subscribe(workspace_id, event_type=event_type, target_url=target_url)
        elif not ours[event_type].is_enabled:
            hooks.enable(ours[event_type].subscription_id)


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
        raise NotSent("The signature does not fit: check the webhook secret of the workspace.")
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
        raise NotSent("The event is not JSON: ignore it.") from error
    event_type, resource_id = (
        (event.get("event_type"), event.get("resource_id"))
        if isinstance(event, dict)
        else (None, None)
    )
    if not isinstance(event_type, str) or not 1 <= len(event_type) <= MOST_NAME:
        raise NotSent("The event has no type: ignore it.")
    if not isinstance(resource_id, str) or not ID.fullmatch(resource_id):
        raise NotSent("The event names no id of Prolific's: ignore it.")
    return HookEvent(event_type, resource_id, event_id[:MOST_NAME])
