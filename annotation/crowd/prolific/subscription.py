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


def hook_url() -> str:
    """Empty where Prolific cannot reach the site: then each pass asks, as it does anyway."""
    is_public = settings.PUBLIC_URL.startswith("https://")
    return settings.PUBLIC_URL + reverse("prolific-event") if is_public else ""


def keep_subscribed(
    client: ProlificClient, workspace: Callable[[], str], target_url: str, now: datetime
) -> None:
    if not target_url or Hook.objects.filter(checked_at__gt=now - CHECKED).exists():
        return
    hooks, workspace_id = client.hooks, workspace()
    secrets = hooks.secrets(workspace_id)
    secret = secrets[0] if secrets else hooks.create_secret(workspace_id)
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
    Hook.objects.update_or_create(
        workspace_id=workspace_id, defaults={"secret": secret, "checked_at": now}
    )
