"""Send events where they are wanted: at least once each, as long as the receiver answers in time.

1. Claim one delivery with one update: the process that changed the row has it.
2. Send it, outside any transaction. A process that dies here leaves a claim that runs out.
3. Record the attempt, and when the next one is due.
"""

import json
import logging
import random
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from standardwebhooks.webhooks import Webhook as Signer

from annotation.models import Delivery, DeliveryAttempt, Event, Webhook
from annotation.notifications.mail import compose
from annotation.notifications.post import NotPosted, post
from annotation.notifications.turk import secret_of

log = logging.getLogger(__name__)

Clock = Callable[[], datetime]
State = Delivery.State

# Of the Standard Webhooks: the wait after each attempt, 75 hours in all.
WAITS = (
    timedelta(seconds=5), timedelta(minutes=5), timedelta(minutes=30), timedelta(hours=2),
    timedelta(hours=5), timedelta(hours=10), timedelta(hours=14), timedelta(hours=20),
    timedelta(hours=24),
)  # fmt: skip
JITTER = 0.1  # of the wait, so that what failed together does not come back together
GONE = 410
MAIL = 0  # among the webhooks: all that goes by mail
ENDED = "The receiver answered 410 Gone."


@dataclass(frozen=True)
class Outcome:
    """What came of an attempt; `over`: it need not be made any more."""

    status: int | None = None
    error: str = ""
    over: bool = False

    @property
    def done(self) -> bool:
        return not self.error


def deliver(*, clock: Clock = timezone.now) -> int:
    """How many were delivered. A receiver that fails is left alone until the next run."""
    sent, failing = 0, set[int]()
    while (delivery := claim(clock(), but=failing)) is not None:
        outcome = _send(delivery, clock())
        record_attempt(delivery, outcome, clock())
        sent += outcome.done
        if not outcome.done and not outcome.over:
            failing.add(delivery.webhook_id or MAIL)
    return sent


def claim(now: datetime, *, but: Collection[int] = ()) -> Delivery | None:
    """The oldest that is due and nobody else has, to none of these webhooks."""
    lapsed = now - timedelta(seconds=settings.CLAIM_SECONDS)
    due = Q(retry_at=None) | Q(retry_at__lte=now)
    free = Q(due, state=State.PENDING) | Q(state=State.CLAIMED, claimed_at__lt=lapsed)
    mine = uuid.uuid4().hex
    ready = Delivery.objects.filter(free).exclude(webhook__in=but).order_by("pk")
    if MAIL in but:
        ready = ready.exclude(webhook=None)
    while (pk := ready.values_list("pk", flat=True).first()) is not None:
        taken = Delivery.objects.filter(free, pk=pk).update(
            state=State.CLAIMED, claim=mine, claimed_at=now, attempts=F("attempts") + 1
        )
        if taken:
            related = "event__campaign", "webhook__requester", "account"
            return Delivery.objects.select_related(*related).get(pk=pk)
    return None


def _send(delivery: Delivery, now: datetime) -> Outcome:
    if delivery.webhook is not None:
        return _post(delivery.webhook, delivery.event, now)
    assert delivery.account is not None
    return _mail(delivery.event, delivery.account)


def _mail(event: Event, account: User) -> Outcome:
    message = compose(event, account)
    if message is None:
        return Outcome(error="They want no such mail, or there is nothing to tell now.", over=True)
    try:
        message.send()
    except OSError as error:  # SMTP's own are such, too
        return Outcome(error=f"The mail server did not take it: {error}")
    return Outcome()


def _post(webhook: Webhook, event: Event, now: datetime) -> Outcome:
    if not webhook.active:
        return Outcome(error="The webhook is disabled.", over=True)
    body = payload(event)
    try:
        status = post(webhook.url, body.encode(), headers(webhook, event, body, now))
    except NotPosted as error:
        return Outcome(error=str(error))
    if 200 <= status < 300:
        return Outcome(status)
    if status == GONE:
        return Outcome(status, ENDED, over=True)
    return Outcome(status, f"The receiver answered {status}.")


def payload(event: Event) -> str:
    at = event.at.isoformat().replace("+00:00", "Z")
    facts = {"type": event.type, "timestamp": at, "data": event.data}
    if event.type == Event.Type.TURK:  # a program for MTurk reads it
        facts = event.data
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":"))


def headers(webhook: Webhook, event: Event, body: str, now: datetime) -> dict[str, str]:
    """Signed again for each attempt: a receiver refuses an old timestamp."""
    secrets = [secret_of(webhook.requester) if webhook.requester else webhook.secret]
    if webhook.old_until and now < webhook.old_until:
        secrets.append(webhook.old_secret)
    signatures = [
        Signer(secret).sign(msg_id=event.message_id, timestamp=now, data=body) for secret in secrets
    ]
    return {
        "Content-Type": "application/json",
        "User-Agent": "Quorum-Webhooks/1",
        "webhook-id": event.message_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }


@transaction.atomic
def record_attempt(delivery: Delivery, outcome: Outcome, now: datetime) -> None:
    """The attempt is always recorded; the delivery changes only if the claim still holds."""
    DeliveryAttempt.objects.create(
        delivery=delivery, at=now, status=outcome.status, error=outcome.error[:300]
    )
    mine = Delivery.objects.filter(pk=delivery.pk, claim=delivery.claim, state=State.CLAIMED)
    if outcome.done:
        mine.update(state=State.DONE, retry_at=None)
        return
    log.warning("event %s, %s: %s", delivery.event_id, delivery.webhook or "mail", outcome.error)
    if outcome.over:
        mine.update(state=State.CANCELLED, retry_at=None)
        if outcome.status == GONE and delivery.webhook is not None:
            disable(delivery.webhook, fault=ENDED)
    elif delivery.attempts > len(WAITS):
        mine.update(state=State.FAILED, retry_at=None)
    else:
        wait = WAITS[delivery.attempts - 1] * random.uniform(1, 1 + JITTER)  # noqa: S311
        mine.update(state=State.PENDING, retry_at=now + wait)


def disable(webhook: Webhook, *, fault: str = "") -> None:
    """Nothing more is sent; what waited can be sent again manually, once it is enabled."""
    Webhook.objects.filter(pk=webhook.pk).update(active=False, fault=fault)
    webhook.deliveries.filter(state=State.PENDING).update(state=State.CANCELLED, retry_at=None)
