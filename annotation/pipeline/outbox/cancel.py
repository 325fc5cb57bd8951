"""Take back messages that have had no effect."""

from django.db.models import Q, QuerySet

from annotation.models import OutboxMessage


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
