"""Who makes which call: an intent is claimed by one update and recorded when the call is over.

A process that dies in between leaves a claim that runs out; the next one sends the same call with
the same token, which the crowd answers as it did the first time.
"""

import random
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from annotation.crowd.port import CrowdError
from annotation.models import Campaign, Intent

Clock = Callable[[], datetime]

UNSENT = (Intent.State.PENDING, Intent.State.CLAIMED)
SPENDING = (Intent.Kind.CREATE, Intent.Kind.EXTEND)
# Calls on one HIT or worker whose order matters: the later waits until the earlier is over.
IN_ORDER = (
    Intent.Kind.EXTEND,
    Intent.Kind.LIFETIME,
    Intent.Kind.EXCLUDE,
    Intent.Kind.READMIT,
)
# Refused for good they are over: nothing waits for them, and nothing is to be mended.
GIVEN_UP = (Intent.Kind.OVERTURN, Intent.Kind.NOTIFY)

FIRST_WAIT = timedelta(seconds=2)
LONGEST_WAIT = timedelta(minutes=15)


def waiting(campaign: Campaign) -> int:
    """How many calls are still to be made."""
    return campaign.intents.filter(state__in=UNSENT).count()


def claim(campaign: Campaign, now: datetime, *, held: Q, size: int) -> list[Intent]:
    """At most `size` intents that nobody else has and that are not `held`, the oldest first.

    Who passes the practice round comes last: anybody can, so that they could hold up the rest.
    """
    free = _free(now)
    ready = _in_turn(campaign.intents.filter(free).exclude(held), held)
    mine = uuid.uuid4().hex
    while batch := _oldest(ready.exclude(kind=Intent.Kind.TRAIN), size) or _oldest(ready, size):
        # Whoever changed the row has it; who came second looks for others.
        taken = Intent.objects.filter(free, pk__in=batch).update(
            state=Intent.State.CLAIMED,
            claim=mine,
            claimed_at=now,
            first_sent_at=Coalesce(F("first_sent_at"), now),
            attempts=F("attempts") + 1,
        )
        if taken:
            related = Intent.objects.select_related("hit", "assignment__hit", "worker")
            return list(related.filter(pk__in=batch, claim=mine).order_by("pk"))
    return []


def _oldest(ready: QuerySet[Intent], size: int) -> list[int]:
    return list(ready.order_by("pk").values_list("pk", flat=True)[:size])


def _free(now: datetime) -> Q:
    due = Q(retry_at=None) | Q(retry_at__lte=now)
    # Longer than a call can take, boto3's repeats included; a second sender would do no harm,
    # since its token is the same, but it would be one too many.
    lapsed = now - timedelta(seconds=settings.CLAIM_SECONDS)
    return Q(due, state=Intent.State.PENDING) | Q(state=Intent.State.CLAIMED, claimed_at__lt=lapsed)


def _in_turn(ready: QuerySet[Intent], held: Q) -> QuerySet[Intent]:
    """What is held keeps nothing else waiting: a paused campaign's HITs can still be expired."""
    earlier = Intent.objects.filter(
        kind__in=IN_ORDER,
        state__in=UNSENT,
        campaign=OuterRef("campaign"),
        pk__lt=OuterRef("pk"),
    ).exclude(held)
    same_hit = Exists(earlier.filter(hit=OuterRef("hit")))
    same_worker = Exists(earlier.filter(worker=OuterRef("worker")))
    return ready.filter(~Q(kind__in=IN_ORDER) | (~same_hit & ~same_worker))


def record_done(intents: Sequence[Intent]) -> None:
    done = Intent.objects.filter(pk__in=[intent.pk for intent in intents])
    done.update(state=Intent.State.DONE, error="", retry_at=None)


def record_fault(intent: Intent, error: CrowdError, now: datetime) -> None:
    """It stays with its reason and count: for good, or until its next turn comes."""
    # Only its own claim: who took it over since knows better.
    mine = Intent.objects.filter(pk=intent.pk, claim=intent.claim, state=Intent.State.CLAIMED)
    if error.permanent:
        over = intent.kind in GIVEN_UP
        state = Intent.State.WITHDRAWN if over else Intent.State.FAILED
        mine.update(state=state, error=str(error))
    else:
        retry_at = now + wait_after(intent.attempts)
        mine.update(state=Intent.State.PENDING, error=str(error), retry_at=retry_at)


def wait_after(attempts: int) -> timedelta:
    """Twice as long after each failed attempt, and never at the same moment as others."""
    longest = min(LONGEST_WAIT, FIRST_WAIT * (1 << min(attempts - 1, 20)))
    return longest * random.uniform(0.5, 1)  # noqa: S311
