"""Outbox messages: made with the token of their effect, cancelled, retried."""

import hashlib

from django.db.models import Q, QuerySet

from annotation.models import Campaign, Hit, OutboxMessage


def create_message(campaign: Campaign, hit: Hit) -> OutboxMessage:
    return OutboxMessage(
        campaign=campaign,
        kind=OutboxMessage.Kind.CREATE,
        token=create_token(hit.key),
        hit=hit,
        new_assignments=hit.max_assignments,
    )


def create_token(hit: str) -> str:
    """The only effect that a HIT, by its key, has once."""
    return token("create", hit)


def token(*parts: object) -> str:
    """At most 64 characters, the same for the same effect, different for any other."""
    return hashlib.sha256(":".join(map(str, parts)).encode()).hexdigest()


def cancel_messages(messages: QuerySet[OutboxMessage]) -> list[OutboxMessage]:
    """Those never sent and those that the crowd has refused; in the caller's transaction.

    Whatever else was sent may have been carried out: it goes on until its answer is known.
    """
    without_effect = Q(state=OutboxMessage.State.PENDING, first_sent_at=None) | Q(
        state=OutboxMessage.State.FAILED
    )
    # Locked first: a sender may be claiming them at this moment.
    ours = messages.filter(without_effect).order_by("pk").select_for_update()
    taken = list(ours.values_list("pk", flat=True))
    rows = OutboxMessage.objects.filter(pk__in=taken)
    rows.update(state=OutboxMessage.State.CANCELLED, retry_at=None)
    return list(rows.select_related("hit").order_by("pk"))


def retry_failed(campaign: Campaign) -> int:
    """Give what failed another try now: publishing again is how a person asks for it."""
    campaign.outbox.filter(state=OutboxMessage.State.PENDING).update(retry_at=None)
    failed = campaign.outbox.filter(state=OutboxMessage.State.FAILED)
    return failed.update(state=OutboxMessage.State.PENDING, retry_at=None)
