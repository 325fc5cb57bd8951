"""Prolific's events are sent to this site: subscribed to once, and looked after daily."""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings
from django.urls import reverse

from annotation.crowd.prolific.client import ProlificClient
from annotation.crowd.prolific.models import Hook

EVENTS = ("study.status.change", "submission.status.change")
# Prolific disables an address that has failed for five days.
CHECKED = timedelta(days=1)
AGAIN = timedelta(hours=1)  # after a refusal


def hook_url() -> str:
    """Empty where Prolific cannot reach the site: then each pass asks, as it does anyway."""
    is_public = settings.PUBLIC_URL.startswith("https://")
    return settings.PUBLIC_URL + reverse("prolific-event") if is_public else ""


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
