"""Copy the crowd's record of submitted work: the only source of votes."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.crowd.port import Crowd, CrowdError, CrowdHit, Submission
from annotation.models import Assignment, Campaign, Hit, OutboxMessage, Worker
from annotation.pipeline.ledger.reservations import locked, release_rest
from annotation.pipeline.outbox.claims import UNSENT, Clock
from annotation.pipeline.outbox.threads import calling
from core.log_context import about
from core.progress import Progress, no_progress

ROWS = 10_000
# We reckon from when we asked for the HIT, the crowd from when it made it.
SLACK = timedelta(minutes=1)

log = logging.getLogger(__name__)


@dataclass
class Ours:
    """What is known here of a HIT, in little memory: there may be a hundred thousand of them."""

    pk: int
    expires_at: datetime | None
    closed_at: datetime | None
    stored: int


@dataclass(frozen=True)
class HitSubmissions:
    """A HIT's record as far as it could be read, and why it could not be read to the end."""

    hit: int
    submissions: Sequence[Submission] = ()
    error: CrowdError | None = None


@dataclass
class Fetched:
    """What a look at the crowd brought."""

    new: int = 0
    unread: list[int] = field(default_factory=list)  # HITs
    fault: CrowdError | None = None  # the first that may pass

    def take(self, fetched: Sequence[HitSubmissions]) -> None:
        self.unread += [one.hit for one in fetched if one.error is not None]
        for one in fetched:
            if one.error is not None and not one.error.permanent:
                self.fault = self.fault or one.error


def fetch_submissions(
    campaign: Campaign,
    crowd: Crowd,
    *,
    clock: Clock = timezone.now,
    progress: Progress = no_progress,
    threads: int | None = None,
) -> Fetched:
    """A HIT whose record cannot be read keeps no other waiting; the reason stays with it."""
    result = Fetched()
    over: list[int] = []
    changed = _changed_hits(campaign, crowd, over, clock)
    fetched: list[HitSubmissions] = []

    def keep() -> None:
        if not fetched:
            return
        result.new += store(campaign, fetched)
        result.take(fetched)
        _keep_faults(campaign, fetched, clock())
        progress(len(fetched))

    with calling(crowd, threads=threads) as caller:
        try:
            while batch := list(islice(changed, caller.batch)):
                # Read to the end first: no call to the crowd is made inside a transaction.
                fetched = caller.each(
                    lambda one: _fetch(one[0], one[1], crowd), batch, meanwhile=keep
                )
        finally:
            keep()  # the last ones, also where the list of HITs broke off
    # Somebody else may have read them meanwhile: then nobody reads them again.
    readable = campaign.hits.exclude(fault="").exclude(pk__in=result.unread)
    readable.update(fault="", fault_at=None)
    close(campaign, sorted(set(over) - set(result.unread)), clock())
    return result


def _fetch(hit: int, crowd_id: str, crowd: Crowd) -> HitSubmissions:
    read: list[Submission] = []
    try:
        read.extend(crowd.submissions(crowd_id))
    except CrowdError as error:
        return HitSubmissions(hit, read, error)
    return HitSubmissions(hit, read)


def _keep_faults(campaign: Campaign, fetched: Sequence[HitSubmissions], now: datetime) -> None:
    errors = {one.hit: one.error for one in fetched if one.error is not None}
    for hit in Hit.objects.filter(pk__in=errors).order_by("pk"):
        with about(campaign=campaign, hit=hit.key):
            log.warning("HIT %s cannot be read: %s", hit.key, errors[hit.pk])
        Hit.objects.filter(pk=hit.pk).update(
            fault=str(errors[hit.pk]), fault_at=Coalesce("fault_at", now)
        )


def _changed_hits(
    campaign: Campaign, crowd: Crowd, over: list[int], clock: Clock
) -> Iterator[tuple[int, str]]:
    """HITs of which the crowd holds more than is stored; others cost no call of their own.

    `over` gets those that have expired while nobody is at work on them.
    """
    # In this order: what is published in between is in both.
    unpublished = dict(campaign.hits.filter(crowd_id=None).values_list("key", "pk"))
    ours = _published(campaign)
    for theirs in crowd.hits():
        hit = ours.get(theirs.hit_id)
        if hit is None and theirs.annotation in unpublished:
            hit = _meet(unpublished.pop(theirs.annotation), theirs, clock())
        if hit is None:
            continue
        if hit.expires_at is None or abs(theirs.expires_at - hit.expires_at) > SLACK:
            # Somebody may have prolonged it at the crowd; if we have since, the look is too old.
            seen = Hit.objects.filter(pk=hit.pk, expires_at=hit.expires_at)
            seen.update(expires_at=theirs.expires_at)
        if hit.closed_at is None and _is_over(theirs, clock()):
            over.append(hit.pk)
        if hit.closed_at is None and theirs.submitted > hit.stored:
            yield hit.pk, theirs.hit_id


def _meet(hit: int, theirs: CrowdHit, now: datetime) -> Ours:
    """A HIT that was published while the answer was lost: people may work on it already.

    Its message is sent again all the same, and finds it done.
    """
    unknown = Hit.objects.filter(pk=hit, crowd_id=None)
    unknown.update(crowd_id=theirs.hit_id, published_at=now, expires_at=theirs.expires_at)
    return Ours(hit, theirs.expires_at, None, 0)


def _published(campaign: Campaign) -> dict[str, Ours]:
    columns = "crowd_id", "pk", "expires_at", "closed_at", "submitted"
    rows = campaign.hits.exclude(crowd_id=None).values_list(*columns).order_by()
    return {
        crowd_id: Ours(pk, expires_at, closed_at, stored)
        for crowd_id, pk, expires_at, closed_at, stored in rows.iterator(chunk_size=ROWS)
        if crowd_id is not None
    }


def _is_over(theirs: CrowdHit, now: datetime) -> bool:
    return theirs.expires_at <= now and theirs.available == theirs.pending == 0


@transaction.atomic
def store(campaign: Campaign, fetched: Sequence[HitSubmissions]) -> int:
    """Add what is not there yet; what is there already stays as it was read first."""
    locked(campaign)  # two collectors at once take turns
    ids = [theirs.assignment_id for one in fetched for theirs in one.submissions]
    stored = Assignment.objects.filter(crowd_id__in=ids)
    known = set(stored.values_list("crowd_id", flat=True))
    new = [
        (one.hit, theirs)
        for one in fetched
        for theirs in one.submissions
        if theirs.assignment_id not in known
    ]
    workers = _workers(campaign.policy.crowd, {theirs.worker_id for _, theirs in new})
    Assignment.objects.bulk_create(
        [_assignment(hit, workers[theirs.worker_id], theirs) for hit, theirs in new]
    )
    return len(new)


def _workers(crowd: str, names: set[str]) -> dict[str, int]:
    """Their primary keys; who is new gets a row."""
    rows = Worker.objects.filter(crowd=crowd, worker_id__in=names)
    known = dict(rows.values_list("worker_id", "pk"))
    if missing := sorted(names - known.keys()):
        fresh = [Worker(crowd=crowd, worker_id=name) for name in missing]
        Worker.objects.bulk_create(fresh, ignore_conflicts=True)
        known = dict(rows.values_list("worker_id", "pk"))
    return known


def _assignment(hit: int, worker: int, submission: Submission) -> Assignment:
    return Assignment(
        hit_id=hit,
        worker_id=worker,
        crowd_id=submission.assignment_id,
        status=submission.status,
        accepted_at=submission.accepted_at,
        submitted_at=submission.submitted_at,
        answers=dict(submission.answers),
    )


@transaction.atomic
def close(campaign: Campaign, hits: Sequence[int], now: datetime) -> int:
    """Nobody can submit these any more: the money of the assignments left over is free again."""
    if not hits:
        return 0
    campaign = locked(campaign)
    # Since we looked, they may have been given more time.
    reopening = OutboxMessage.objects.filter(
        hit=OuterRef("pk"), kind=OutboxMessage.Kind.LIFETIME, state__in=UNSENT, expires_at__gt=now
    )
    closing = campaign.hits.filter(
        ~Exists(reopening), pk__in=hits, closed_at=None, expires_at__lte=now
    )
    release_rest(campaign, list(closing))
    return closing.update(closed_at=now, tie_reserve=0)
