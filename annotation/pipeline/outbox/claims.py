"""Who makes which call: a message is claimed by one update and recorded when the call is over.

A process renews its claim while it waits for answers. One that dies leaves a claim that runs out;
the next one sends the same call with the same token, which the crowd answers as it did the first
time.
"""

import random
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from annotation.crowd.port import CrowdError
from annotation.models import Campaign, OutboxMessage

Clock = Callable[[], datetime]

UNSENT = (OutboxMessage.State.PENDING, OutboxMessage.State.CLAIMED)
SPENDING = (OutboxMessage.Kind.CREATE, OutboxMessage.Kind.EXTEND)
DECISIONS = (OutboxMessage.Kind.APPROVE, OutboxMessage.Kind.REJECT)
# Calls on one HIT or worker whose order matters: the later waits until the earlier is over.
IN_ORDER = (
    OutboxMessage.Kind.EXTEND,
    OutboxMessage.Kind.LIFETIME,
    OutboxMessage.Kind.EXCLUDE,
    OutboxMessage.Kind.RESTORE,
)
# Refused for good they are over: nothing waits for them, and nothing is to be mended.
GIVEN_UP = (OutboxMessage.Kind.OVERTURN, OutboxMessage.Kind.NOTIFY)

FIRST_WAIT = timedelta(seconds=2)
LONGEST_WAIT = timedelta(minutes=15)


def waiting(campaign: Campaign) -> int:
    """How many calls are still to be made."""
    return campaign.outbox.filter(state__in=UNSENT).count()


def claim(
    campaign: Campaign, now: datetime, mine: str, *, held: Q, size: int
) -> list[OutboxMessage]:
    """At most `size` messages that nobody else has and that are not `held`, the oldest first.

    What is `mine` already is not claimed again, however long ago that was. Who passes the
    qualification test comes last: anybody can, so that they could hold up the rest.
    """
    free = _free(now, mine)
    ready = _in_turn(campaign.outbox.filter(free).exclude(held), held)
    while batch := _oldest(ready.exclude(kind=OutboxMessage.Kind.TRAIN), size) or _oldest(
        ready, size
    ):
        # The process that changed the row has it; the second one looks for others.
        taken = OutboxMessage.objects.filter(free, pk__in=batch).update(
            state=OutboxMessage.State.CLAIMED,
            claim=mine,
            claimed_at=now,
            first_sent_at=Coalesce(F("first_sent_at"), now),
            attempts=F("attempts") + 1,
        )
        if taken:
            related = OutboxMessage.objects.select_related("hit", "assignment__hit", "worker")
            related = related.defer("assignment__answers")  # long, and no call says them
            return list(related.filter(pk__in=batch, claim=mine).order_by("pk"))
    return []


def renew(claimed: Sequence[OutboxMessage], now: datetime) -> None:
    """What somebody has taken over meanwhile stays theirs."""
    mine = OutboxMessage.objects.filter(claim=claimed[0].claim, state=OutboxMessage.State.CLAIMED)
    mine.filter(pk__in=[message.pk for message in claimed]).update(claimed_at=now)


def _oldest(ready: QuerySet[OutboxMessage], size: int) -> list[int]:
    return list(ready.order_by("pk").values_list("pk", flat=True)[:size])


def _free(now: datetime, mine: str) -> Q:
    due = Q(retry_at=None) | Q(retry_at__lte=now)
    # Who still waits for answers renews its claim. A second sender would do no harm, since its
    # token is the same, but it would be one too many.
    return Q(due, state=OutboxMessage.State.PENDING) | Q(~Q(claim=mine), lapsed(now))


def lapsed(now: datetime) -> Q:
    """Claimed by a process that must be dead: it would have renewed its claim."""
    since = now - timedelta(seconds=settings.CLAIM_SECONDS)
    return Q(state=OutboxMessage.State.CLAIMED, claimed_at__lt=since)


def _in_turn(ready: QuerySet[OutboxMessage], held: Q) -> QuerySet[OutboxMessage]:
    """What is held keeps nothing else waiting: a paused campaign's HITs can still be expired."""
    earlier = OutboxMessage.objects.filter(
        kind__in=IN_ORDER,
        state__in=UNSENT,
        campaign=OuterRef("campaign"),
        pk__lt=OuterRef("pk"),
    ).exclude(held)
    same_hit = Exists(earlier.filter(hit=OuterRef("hit")))
    same_worker = Exists(earlier.filter(worker=OuterRef("worker")))
    return ready.filter(~Q(kind__in=IN_ORDER) | (~same_hit & ~same_worker))


def record_done(messages: Sequence[OutboxMessage]) -> None:
    done = OutboxMessage.objects.filter(pk__in=[message.pk for message in messages])
    done.update(state=OutboxMessage.State.DONE, error="", retry_at=None)


def record_fault(message: OutboxMessage, error: CrowdError, now: datetime) -> None:
    """It stays with its reason and count: for good, or until its next turn comes."""
    # Only its own claim: who took it over since knows better.
    mine = OutboxMessage.objects.filter(
        pk=message.pk, claim=message.claim, state=OutboxMessage.State.CLAIMED
    )
    if error.permanent:
        over = message.kind in GIVEN_UP
        state = OutboxMessage.State.CANCELLED if over else OutboxMessage.State.FAILED
        mine.update(state=state, error=str(error))
    else:
        retry_at = now + wait_after(message.attempts)
        mine.update(state=OutboxMessage.State.PENDING, error=str(error), retry_at=retry_at)


def wait_after(attempts: int) -> timedelta:
    """Twice as long after each failed attempt, and never at the same moment as others."""
    longest = min(LONGEST_WAIT, FIRST_WAIT * (1 << min(attempts - 1, 20)))
    return longest * random.uniform(0.5, 1)  # noqa: S311
