"""What people do to webhooks and to what was sent: each with its entry in the audit log."""

import base64
import secrets
from collections.abc import Sequence
from datetime import timedelta
from urllib.parse import urlsplit

from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation.access.audit_log import Actor, logged
from annotation.models import Delivery, Webhook
from annotation.models.event import OFFERED_TYPES
from annotation.notifications.addresses import check_url
from annotation.notifications.deliver import disable
from core.errors import UserError

MANAGE = "annotation.change_webhook"
OVERLAP = timedelta(hours=24)  # in which a new secret and the one before both sign
State = Delivery.State


def add_webhook(url: str, types: Sequence[str], *, by: Actor) -> Webhook:
    """Its secret is in it, to be shown this once. UserError where the address is not taken."""
    host = check_url(url).hostname or ""
    offered = dict(OFFERED_TYPES)
    unknown = [one for one in types if one not in offered]
    if unknown:
        raise UserError(f"There is no event {unknown[0]!r}: choose of {', '.join(offered)}.")
    try:
        with logged(by, "add-webhook", subject=host, types=list(types)) as entry:
            chosen = list(dict.fromkeys(types))
            made = Webhook.objects.create(
                url=url, types=chosen, secret=new_secret(), created_by=by.name
            )
            entry.details["webhook"] = made.pk
    except IntegrityError as error:
        raise UserError("There is a webhook with this address already.") from error
    return made


def rotate_secret(webhook: Webhook, *, by: Actor) -> str:
    """The new secret; for a day the one before signs as well."""
    with logged(by, "rotate-secret", subject=_host(webhook), webhook=webhook.pk):
        webhook.old_secret, webhook.secret = webhook.secret, new_secret()
        webhook.old_until = timezone.now() + OVERLAP
        webhook.save(update_fields=["secret", "old_secret", "old_until"])
    return webhook.secret


def enable_webhook(webhook: Webhook, *, by: Actor) -> None:
    with logged(by, "enable-webhook", subject=_host(webhook), webhook=webhook.pk):
        Webhook.objects.filter(pk=webhook.pk).update(active=True, fault="")


def disable_webhook(webhook: Webhook, *, by: Actor) -> None:
    with logged(by, "disable-webhook", subject=_host(webhook), webhook=webhook.pk):
        disable(webhook)


def resend(delivery: Delivery, *, by: Actor) -> None:
    """From the first attempt on, with the next run. UserError where it is under way anyway."""
    with transaction.atomic():
        if delivery.webhook is not None and not delivery.webhook.active:
            raise UserError("The webhook is disabled: enable it first, then send again.")
        over = (State.DONE, State.FAILED, State.CANCELLED)
        rows = Delivery.objects.filter(pk=delivery.pk, state__in=over)
        if not rows.update(state=State.PENDING, attempts=0, retry_at=None):
            raise UserError("It is still being sent: wait for its next attempt.")
        event = delivery.event
        with logged(by, "resend", event.campaign, subject=event.message_id) as entry:
            entry.details["delivery"] = delivery.pk


def new_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def _host(webhook: Webhook) -> str:
    """For the log: the rest of an address may be a password."""
    return urlsplit(webhook.url).hostname or ""
