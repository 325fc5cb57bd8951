"""Both sides of a campaign's HITs in figures: as they stand here, and as the crowd lists them.

A call that is being made moves both sides, one after the other. So what stands here is looked at
before and after the crowd is asked: done before is the least that it must have, perhaps made by
now the most that it may have. Only what lies outside is drift.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q, Sum

from annotation.crowd.port import Crowd, CrowdError, CrowdHit
from annotation.models import Assignment, Campaign, OutboxMessage
from annotation.pipeline.outbox.claims import DECISIONS, SPENDING, UNSENT

ROWS = 10_000
DONE = Q(state=OutboxMessage.State.DONE)
MADE = DONE | Q(first_sent_at__isnull=False)  # perhaps


@dataclass(slots=True)
class Ours:
    """What is known here of a HIT, in little memory."""

    pk: int
    key: str
    crowd_id: str | None
    published_at: datetime | None
    expires_at: datetime | None
    closed: bool
    gone: bool
    bought: int = 0  # assignments, by calls that are done
    asked: int = 0  # assignments, with the calls that were perhaps made
    stored: int = 0
    decided: int = 0
    deciding: int = 0  # decisions that were perhaps made


@dataclass(frozen=True)
class Listing:
    """The crowd's HITs that bear our campaign's mark."""

    hits: list[CrowdHit]
    error: str | None  # why the list is not complete


@dataclass(frozen=True)
class Sides:
    """A campaign, its crowd, and what stood on either side when the comparison began."""

    campaign: Campaign
    crowd: Crowd
    before: Mapping[str, Ours]  # by key; looked up before the list was read
    listing: Listing
    now: datetime


def mark(campaign: Campaign) -> str:
    """What the keys of the campaign's HITs begin with; they are their annotations there."""
    return f"{campaign.uid.hex[:16]}-"


def list_theirs(campaign: Campaign, crowd: Crowd) -> Listing:
    theirs: list[CrowdHit] = []
    ours = mark(campaign)
    try:
        for hit in crowd.hits():
            if hit.annotation.startswith(ours):
                theirs.append(hit)  # noqa: PERF401  what came before an error is kept
    except CrowdError as error:
        return Listing(theirs, str(error))
    return Listing(theirs, None)


def count_ours(campaign: Campaign) -> dict[str, Ours]:
    """By key."""
    columns = "pk", "key", "crowd_id", "published_at", "expires_at", "closed_at", "gone"
    rows = campaign.hits.order_by().values_list(*columns).iterator(chunk_size=ROWS)
    by_pk = {
        pk: Ours(pk, key, crowd_id, published_at, expires_at, closed_at is not None, gone)
        for pk, key, crowd_id, published_at, expires_at, closed_at, gone in rows
    }
    _count_assignments(campaign, by_pk)
    _count_submissions(campaign, by_pk)
    return {hit.key: hit for hit in by_pk.values()}


def _count_assignments(campaign: Campaign, hits: Mapping[int, Ours]) -> None:
    bought = campaign.outbox.filter(kind__in=SPENDING).exclude(state=OutboxMessage.State.CANCELLED)
    rows = (
        bought.order_by()
        .values_list("hit")
        .annotate(
            done=Sum("new_assignments", filter=DONE, default=0),
            made=Sum("new_assignments", filter=MADE, default=0),
        )
    )
    for pk, done, made in rows.iterator(chunk_size=ROWS):
        if pk in hits:
            hits[pk].bought, hits[pk].asked = done, made


def _count_submissions(campaign: Campaign, hits: Mapping[int, Ours]) -> None:
    assignments = Assignment.objects.filter(hit__campaign=campaign).order_by().values_list("hit")
    undecided = Q(status=Assignment.Status.SUBMITTED)
    rows = assignments.annotate(stored=Count("pk"), decided=Count("pk", filter=~undecided))
    for pk, stored, decided in rows.iterator(chunk_size=ROWS):
        if pk in hits:
            hits[pk].stored, hits[pk].decided = stored, decided
    made = campaign.outbox.filter(MADE, kind__in=DECISIONS, state__in=UNSENT)
    deciding = made.order_by().values_list("assignment__hit").annotate(count=Count("pk"))
    for pk, count in deciding:
        if pk in hits:
            hits[pk].deciding = count
