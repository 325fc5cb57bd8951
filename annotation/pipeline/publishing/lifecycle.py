"""Pause, resume, expire, prolong and cancel: each safe to repeat, and by two people at once.

The database is told first, in one transaction; the calls that follow are messages like all others.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from annotation.models import Campaign, Hit, HitItem, OutboxMessage, Triplet
from annotation.pipeline.changes import in_parts
from annotation.pipeline.ledger.reservations import (
    account_of,
    book,
    locked,
    release_rest,
    reserve,
    reserved_cents,
)
from annotation.pipeline.manual.bonus import withdraw_refused
from annotation.pipeline.outbox.claims import SPENDING, UNSENT
from annotation.pipeline.outbox.messages import cancel_messages, token
from annotation.pipeline.publishing.outlook import (
    Prolonging,
    prolongations,
    prolonging,
    takeable_hits,
)
from core.errors import UserError

BATCH = 1000
LONGEST_DAYS = 365  # the crowd gives no HIT more

State = Campaign.State


@transaction.atomic
def pause(campaign: Campaign) -> None:
    """Buy nothing more; what is at the crowd goes on."""
    campaign = _living(campaign)
    campaign.state = State.PAUSED
    campaign.save(update_fields=["state"])


@transaction.atomic
def resume(campaign: Campaign) -> None:
    """The next pass finds out whether the budget is enough."""
    campaign = _living(campaign)
    if campaign.state == State.PAUSED:
        campaign.state = State.ACTIVE
        campaign.save(update_fields=["state"])


@transaction.atomic
def expire(campaign: Campaign, now: datetime) -> int:
    """Nobody can take a HIT from now on, who is at work may submit; how many HITs that are."""
    campaign = locked(campaign)
    return _end_all(campaign, now)


def end_unneeded(campaign: Campaign, changed: Sequence[int], now: datetime) -> set[int]:
    """HITs all of whose triplets have been decided, by experts: nobody shall judge them in vain.

    Where votes alone decide there are none but for the length of a pass. The campaign is locked.
    Of the `changed` HITs, those that are to be ended as soon as they are published.
    """
    if campaign.policy.adjudication != "decide":
        return set()
    wanted = HitItem.objects.filter(hit=OuterRef("pk"), triplet__status=Triplet.Status.OPEN)
    unpublished: set[int] = set()
    for some in in_parts(changed):
        _end(campaign, to_end(campaign, now).filter(~Exists(wanted), pk__in=some), now)
        creating = _unsent(Q(kind=OutboxMessage.Kind.CREATE))
        early = campaign.hits.filter(~Exists(wanted), Exists(creating), pk__in=some, crowd_id=None)
        unpublished |= set(early.values_list("pk", flat=True))
    return unpublished


@transaction.atomic
def prolong(campaign: Campaign, *, days: int, now: datetime) -> Prolonging:
    """More time for HITs that lack votes; those that were over get their money again."""
    campaign = locked(campaign)
    check_prolongable(campaign)
    until = end_of(days, now)
    covered, left_out = prolongations(campaign, until)
    for start in range(0, len(covered), BATCH):
        chunk = covered[start : start + BATCH]
        messages = _set_end(campaign, [one.hit for one in chunk], until)
        account = account_of(campaign)
        paired = zip(messages, chunk, strict=True)
        book(
            [
                reserve(account, message, assignments=one.lacking)
                for message, one in paired
                if one.lacking
            ]
        )
    return prolonging(covered, left_out)


def end_of(days: int, now: datetime) -> datetime:
    if not 1 <= days <= LONGEST_DAYS:
        raise UserError(f"HITs can be prolonged by 1 to {LONGEST_DAYS} days, not by {days}.")
    return now + timedelta(days=days)


@transaction.atomic
def cancel(campaign: Campaign, now: datetime) -> None:
    """For good: nothing more is asked for, and what is submitted is still reviewed and paid."""
    campaign = locked(campaign)
    campaign.state = State.CANCELLED
    campaign.save(update_fields=["state"])
    wind_up(campaign, now)


def wind_up(campaign: Campaign, now: datetime) -> None:
    """What is left to end of a cancelled campaign; it is locked.

    Calls that were under way when it was cancelled may have published HITs since: each pass looks
    again, until no money is reserved any more.
    """
    _withdraw_purchases(campaign)
    withdraw_refused(campaign)
    _end_all(campaign, now)
    _release_idle(campaign, _idle())


def _living(campaign: Campaign) -> Campaign:
    campaign = locked(campaign)
    check_living(campaign)
    return campaign


def check_prolongable(campaign: Campaign) -> None:
    check_living(campaign)
    if campaign.state == State.PAUSED:
        raise UserError(
            f"Campaign {campaign} is paused: run `quorum campaign resume {campaign}` first."
        )


def check_living(campaign: Campaign) -> None:
    if campaign.state == State.CANCELLED:
        raise UserError(
            f"Campaign {campaign} is cancelled. You cannot undo this: create another campaign."
        )


def _withdraw_purchases(campaign: Campaign) -> None:
    cancelled = cancel_messages(campaign.outbox.filter(kind__in=SPENDING))
    fewer = Counter[int]()
    for message in cancelled:
        if message.kind == OutboxMessage.Kind.EXTEND and message.hit_id is not None:
            fewer[message.hit_id] += message.new_assignments
    for hit, lost in fewer.items():
        Hit.objects.filter(pk=hit).update(max_assignments=F("max_assignments") - lost)


def _end_all(campaign: Campaign, now: datetime) -> int:
    """Of HITs that were to be opened again too."""
    opening = Q(kind=OutboxMessage.Kind.LIFETIME, expires_at__gt=now)
    stopped = {message.hit_id for message in cancel_messages(campaign.outbox.filter(opening))}
    _release_idle(campaign, Q(pk__in=stopped) & _is_closed())
    return _end(campaign, to_end(campaign, now), now)


def _end(campaign: Campaign, ending: QuerySet[Hit], now: datetime) -> int:
    hits = list(ending.order_by("number"))
    for start in range(0, len(hits), BATCH):
        _set_end(campaign, hits[start : start + BATCH], now)
    return len(hits)


def to_end(campaign: Campaign, now: datetime) -> QuerySet[Hit]:
    """HITs that can be taken or are to be opened again, and are not being ended already."""
    opening = Q(kind=OutboxMessage.Kind.LIFETIME, expires_at__gt=now)
    ending = OutboxMessage.objects.filter(
        hit=OuterRef("pk"), kind=OutboxMessage.Kind.LIFETIME, expires_at__lte=now
    ).filter(state__in=(*UNSENT, OutboxMessage.State.FAILED))
    takeable = takeable_hits(campaign, now).values("pk")
    wanted = Q(pk__in=takeable) | Exists(_unsent(opening))
    return campaign.hits.filter(wanted, ~Exists(ending))


def _set_end(campaign: Campaign, hits: Sequence[Hit], at: datetime) -> list[OutboxMessage]:
    """In place of what was planned for these HITs before and had no effect."""
    before = campaign.outbox.filter(kind=OutboxMessage.Kind.LIFETIME, hit__in=hits)
    cancel_messages(before)
    number = dict(before.order_by().values_list("hit").annotate(count=Count("pk")))
    return OutboxMessage.objects.bulk_create(
        [
            OutboxMessage(
                campaign=campaign,
                kind=OutboxMessage.Kind.LIFETIME,
                token=token("lifetime", hit.key, number.get(hit.pk, 0)),
                hit=hit,
                expires_at=at,
            )
            for hit in hits
        ]
    )


def _idle() -> Q:
    """HITs of which nothing more can be submitted, and nothing is under way."""
    buying = _unsent(Q(kind__in=SPENDING))
    submitted = Q(crowd_id__isnull=False, max_assignments__lte=F("submitted"))
    never_out = Q(crowd_id=None)
    return Q(submitted | never_out, ~Exists(buying)) | _is_closed()


def _is_closed() -> Q:
    reopening = _unsent(Q(kind=OutboxMessage.Kind.LIFETIME))
    return Q(~Exists(reopening), closed_at__isnull=False)


def _unsent(which: Q) -> QuerySet[OutboxMessage]:
    return OutboxMessage.objects.filter(which, hit=OuterRef("pk"), state__in=UNSENT)


def _release_idle(campaign: Campaign, which: Q) -> None:
    """What is reserved for these beyond the work that waits for its decision."""
    if not account_of(campaign).reserved_cents:
        return
    idle = list(reserved_cents(campaign.hits.filter(which)))
    for start in range(0, len(idle), BATCH):
        hits = Hit.objects.filter(pk__in=idle[start : start + BATCH])
        release_rest(campaign, list(hits))
        hits.update(tie_reserve=0)
