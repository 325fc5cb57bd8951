"""Make the calls that the intents name.

1. Claim an intent with one update; whoever changed the row has it.
2. Make the call, outside any transaction: it may take long, and it cannot be rolled back.
3. Record what came of it.

A process that dies in between leaves a claim that runs out; the next one sends the same call with
the same token, which the crowd answers as it did the first time. After a day the crowd has
forgotten tokens, so the crowd's own record is asked first.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.crowd.base import Crowd, CrowdError, CrowdHit
from annotation.hit_url import hit_url
from annotation.models import Assignment, Campaign, Hit, Intent
from annotation.protocol.cost import assignment_cents
from retrieval.progress import Progress, no_progress

# Longer than a call can take, boto3's repeats included; a second sender would do no harm, since
# its token is the same, but it would be one too many.
CLAIM = timedelta(minutes=3)
TOKEN_LIFE = timedelta(hours=23)  # the crowd remembers tokens for 24 hours

UNSENT = (Intent.State.PENDING, Intent.State.CLAIMED)
SPENDING = (Intent.Kind.CREATE, Intent.Kind.EXTEND)

Clock = Callable[[], datetime]


@dataclass(frozen=True)
class Delivery:
    sent: int
    failed: int
    stopped_by: str | None  # why the pass ended before all was sent


def deliver(
    campaign: Campaign,
    crowd: Crowd,
    *,
    clock: Clock = timezone.now,
    progress: Progress = no_progress,
) -> Delivery:
    """Send what waits. A passing fault ends the pass: the rest waits for the next one.

    What costs money waits while the account cannot pay for all of it; the rest is sent.
    """
    sent = failed = 0
    try:
        short = _shortfall(campaign, crowd)
    except CrowdError as error:
        _to_buy(campaign).update(error=str(error))
        return Delivery(sent, failed, str(error))
    for intent in _claims(campaign, clock, unpaid_only=short is not None):
        try:
            _send(intent, campaign, crowd, clock)
        except CrowdError as error:
            _record_fault(intent, error)
            failed += error.permanent
            if not error.permanent:
                return Delivery(sent, failed, str(error))
        else:
            sent += 1
        progress(1)
    return Delivery(sent, failed, short)


def _shortfall(campaign: Campaign, crowd: Crowd) -> str | None:
    """What the account lacks for the places that are to be bought now; None where it has enough."""
    places = _to_buy(campaign).aggregate(places=Sum("places", default=0))["places"]
    needed = places * assignment_cents(campaign.policy)
    if not needed or needed <= (balance := crowd.balance_cents()):
        return None
    short = (
        f"{places} more assignments cost ${needed / 100:,.2f}, but the account at "
        f"{crowd.endpoint} holds ${balance / 100:,.2f}: top it up."
    )
    _to_buy(campaign).update(error=short)
    return short


def _to_buy(campaign: Campaign) -> QuerySet[Intent]:
    return campaign.intents.filter(kind__in=SPENDING, state__in=UNSENT)


def waiting(campaign: Campaign) -> int:
    """How many calls are still to be made."""
    return campaign.intents.filter(state__in=UNSENT).count()


def _claims(campaign: Campaign, clock: Clock, *, unpaid_only: bool) -> Iterator[Intent]:
    last = 0
    intents = campaign.intents.exclude(kind__in=SPENDING if unpaid_only else [])
    while True:
        free = Q(state=Intent.State.PENDING) | Q(
            state=Intent.State.CLAIMED, claimed_at__lt=clock() - CLAIM
        )
        queue = intents.filter(free, pk__gt=last).order_by("pk")
        batch = list(queue.values_list("pk", flat=True)[:500])
        if not batch:
            return
        for last in batch:
            now = clock()
            mine = Intent.objects.filter(free, pk=last).update(
                state=Intent.State.CLAIMED,
                claimed_at=now,
                first_sent_at=Coalesce(F("first_sent_at"), now),
                attempts=F("attempts") + 1,
            )
            if mine:
                related = Intent.objects.select_related("hit", "assignment__hit", "worker")
                yield related.get(pk=last)


def _send(intent: Intent, campaign: Campaign, crowd: Crowd, clock: Clock) -> None:
    forgotten = intent.first_sent_at is not None and intent.first_sent_at < clock() - TOKEN_LIFE
    match intent.kind:
        case Intent.Kind.CREATE:
            _create(intent, campaign, crowd, forgotten, clock())
        case Intent.Kind.EXTEND:
            _extend(intent, crowd, forgotten)
        case Intent.Kind.APPROVE | Intent.Kind.REJECT:
            _decide(intent, crowd)
        case Intent.Kind.EXCLUDE:
            _exclude(intent, campaign, crowd)


def _create(
    intent: Intent, campaign: Campaign, crowd: Crowd, forgotten: bool, now: datetime
) -> None:
    assert intent.hit is not None
    lifetime = timedelta(days=campaign.policy.lifetime_days)
    found = _look_up(crowd, intent.hit) if forgotten else None
    crowd_id = (
        found.hit_id
        if found
        else crowd.create_hit(
            hit_type_id=campaign.hit_type_id,
            url=hit_url(intent.hit.key),
            places=intent.places,
            lifetime_seconds=int(lifetime.total_seconds()),
            token=intent.token,
            annotation=intent.hit.key,
        )
    )
    with transaction.atomic():
        Hit.objects.filter(pk=intent.hit.pk).update(
            crowd_id=crowd_id, published_at=now, expires_at=now + lifetime
        )
        _record_done(intent)


def _extend(intent: Intent, crowd: Crowd, forgotten: bool) -> None:
    assert intent.hit is not None
    assert intent.hit.crowd_id is not None
    if not (forgotten and _has_places(crowd, intent)):
        crowd.extend_hit(intent.hit.crowd_id, extra=intent.places, token=intent.token)
    _record_done(intent)


def _decide(intent: Intent, crowd: Crowd) -> None:
    assert intent.assignment is not None
    try:
        if intent.kind == Intent.Kind.APPROVE:
            crowd.approve(intent.assignment.crowd_id)
            status = Assignment.Status.APPROVED
        else:
            crowd.reject(intent.assignment.crowd_id, reason=intent.reason)
            status = Assignment.Status.REJECTED
    except CrowdError as error:
        if not error.permanent:
            raise
        # Work that waits too long is approved by the crowd itself, and its word is final.
        status = _decided(intent.assignment, crowd)
        if status == Assignment.Status.SUBMITTED:
            raise
    with transaction.atomic():
        Assignment.objects.filter(pk=intent.assignment.pk).update(status=status)
        _record_done(intent)


def _decided(assignment: Assignment, crowd: Crowd) -> Assignment.Status:
    """What the crowd's record says of it by now."""
    assert assignment.hit.crowd_id is not None
    for theirs in crowd.submissions(assignment.hit.crowd_id):
        if theirs.assignment_id == assignment.crowd_id:
            return Assignment.Status(theirs.status)
    return Assignment.Status.SUBMITTED


def _exclude(intent: Intent, campaign: Campaign, crowd: Crowd) -> None:
    assert intent.worker is not None
    if campaign.policy.exclude_by == "block":
        crowd.block(intent.worker.worker_id, reason=intent.reason)
    else:
        crowd.exclude(intent.worker.worker_id, exclusion_id=campaign.exclusion_id)
    _record_done(intent)


def _look_up(crowd: Crowd, hit: Hit) -> CrowdHit | None:
    return next((found for found in crowd.hits() if found.annotation == hit.key), None)


def _has_places(crowd: Crowd, intent: Intent) -> bool:
    """Whether the crowd already counts the places this intent asks for."""
    assert intent.hit is not None
    found = _look_up(crowd, intent.hit)
    if found is None:
        raise CrowdError(f"The crowd no longer knows HIT {intent.hit.crowd_id}.", permanent=True)
    done = intent.hit.intents.filter(state=Intent.State.DONE).aggregate(total=Sum("places"))
    return found.max_assignments >= (done["total"] or 0) + intent.places


def _record_done(intent: Intent) -> None:
    Intent.objects.filter(pk=intent.pk).update(state=Intent.State.DONE, error="")


def _record_fault(intent: Intent, error: CrowdError) -> None:
    state = Intent.State.FAILED if error.permanent else Intent.State.PENDING
    Intent.objects.filter(pk=intent.pk).update(state=state, error=str(error))
