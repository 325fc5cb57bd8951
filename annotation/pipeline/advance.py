"""One pass over a campaign: collect, review and count what came in, send what follows."""

import logging
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Max
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.crowd.port import Crowd, CrowdError
from annotation.models import Assignment, Campaign, Event, Triplet
from annotation.notifications.events import note_condition
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.ledger.pay import underpaid
from annotation.pipeline.ledger.reservations import account_of, locked
from annotation.pipeline.ledger.settlements import settle_bill, settle_surplus
from annotation.pipeline.outbox.claims import Clock, waiting
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing.completion import is_complete
from annotation.pipeline.publishing.crowd_setup import bind, prepare
from annotation.pipeline.publishing.pilot_conditions import keep_apart
from annotation.pipeline.recompute import Recomputed, recompute
from core.errors import UserError
from core.progress import Progress, no_progress
from core.text.money import money

PATIENCE = timedelta(hours=1)
NEARLY_PERCENT = 90  # of the budget: so much of it spent is reported

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pass:
    """What one pass found and did; `finished` when nothing is left to wait for."""

    new: int
    passed: int
    failed: int
    excluded: int
    labelled: int
    open: int
    unresolved: int
    assignments_requested: int
    sent: int
    waiting: int
    stopped_by: str | None
    finished: bool


def advance(
    campaign: Campaign,
    crowd: Crowd,
    *,
    clock: Clock = timezone.now,
    progress: Progress = no_progress,
    sending: Progress = no_progress,
) -> Pass:
    """Every step can be lost or run twice: each finds its own work in the database.

    `progress` counts the HITs that are fetched, `sending` the calls that follow.
    """
    if not campaign.endpoint:
        raise UserError(
            f"Campaign {campaign} is not published: run `quorum campaign publish {campaign}`."
        )
    bind(campaign, crowd)
    if not campaign.known_id:  # published before there was one
        prepare(campaign, crowd)
    keep_apart(campaign)
    # What an earlier pass decided goes out first: the crowd's counts below then include it.
    before = deliver(campaign, crowd, clock=clock, progress=sending)
    tended = _tend(campaign, crowd)
    collected = _collect(campaign, crowd, clock, progress)
    recomputed = recompute(campaign, until=collected.known_until, clock=clock)
    uncovered = _book_bill(campaign, crowd)
    after = deliver(campaign, crowd, clock=clock, progress=sending)
    if after.sent:
        tended = tended or _tend(campaign, crowd)
    note_conditions(campaign, recomputed, clock())
    left = waiting(campaign)
    return Pass(
        new=collected.new,
        **asdict(recomputed),
        sent=before.sent + after.sent,
        waiting=left,
        stopped_by=after.stopped_by or before.stopped_by or collected.fault or tended or uncovered,
        finished=not left and not is_open(campaign),
    )


def _tend(campaign: Campaign, crowd: Crowd) -> str | None:
    """What went wrong with it; the rest of the pass does without."""
    fault = None
    may_grow = not _book_surplus(campaign, crowd)
    try:
        crowd.tend(campaign.hit_type_id, may_grow=may_grow)
    except CrowdError as error:
        log.warning("campaign %s: %s", campaign, error)
        fault = str(error)
    return _book_surplus(campaign, crowd) or fault


def _book_surplus(campaign: Campaign, crowd: Crowd) -> str | None:
    if not (paid := crowd.surplus(campaign.hit_type_id)):
        return None
    with transaction.atomic():
        short = settle_surplus(locked(campaign), paid)
        if not short:
            crowd.surplus_booked(paid)
    return _uncovered(campaign, short)


def _book_bill(campaign: Campaign, crowd: Crowd) -> str | None:
    billed = crowd.billed_cents(campaign.hit_type_id)
    if billed is None or waiting(campaign):
        return None
    with transaction.atomic():
        return _uncovered(campaign, settle_bill(locked(campaign), billed))


def _uncovered(campaign: Campaign, short: int) -> str | None:
    return (
        f"The crowd has paid {money(short)} that the budget of {campaign} does not cover: raise "
        f"it by `quorum campaign budget {campaign}`."
        if short
        else None
    )


@transaction.atomic
def note_conditions(campaign: Campaign, recomputed: Recomputed, now: datetime) -> None:
    """Whether it is complete, the money may not last until then, or people get too little."""
    campaign = locked(campaign)
    decided = {"labelled": recomputed.labelled, "unresolved": recomputed.unresolved}
    causes = {"": decided} if is_complete(campaign) else {}
    note_condition(campaign, Event.Type.COMPLETE, causes, at=now)
    account = account_of(campaign)
    spent, budget = account.spent_cents, account.budget_cents
    is_living = campaign.state != Campaign.State.CANCELLED
    nearly = recomputed.open and is_living and 0 < budget * NEARLY_PERCENT <= spent * 100
    sums = {"spent_cents": spent, "budget_cents": budget, "open": recomputed.open}
    note_condition(campaign, Event.Type.BUDGET, {"": sums} if nearly else {}, at=now)
    pay = underpaid(campaign)
    note_condition(campaign, Event.Type.PAY, {"": {"reasons": pay}} if pay else {}, at=now)


@dataclass(frozen=True)
class Collected:
    new: int
    known_until: datetime  # nothing submitted by then is missing
    fault: str | None


def _collect(campaign: Campaign, crowd: Crowd, clock: Clock, progress: Progress) -> Collected:
    """A look takes a while, and what is submitted meanwhile may be seen without what came shortly
    before it. What was known when a look began, and all before it, is complete when it ends.
    """
    known_until = newest(campaign)
    fetched = fetch_submissions(campaign, crowd, clock=clock, progress=progress)
    new = fetched.new
    if new and fetched.fault is None:
        known_until = newest(campaign)
        fetched = fetch_submissions(campaign, crowd, clock=clock, progress=progress)
        new += fetched.new
    known_until = min(known_until, *_unread_since(campaign, fetched.unread, clock()))
    return Collected(new, known_until, str(fetched.fault) if fetched.fault else None)


def _unread_since(campaign: Campaign, hits: list[int], now: datetime) -> list[datetime]:
    """For each of these HITs, the time of its last work that is known here.

    One that cannot be read for long is not waited for: the others' work must be decided.
    """
    waited_for = campaign.hits.filter(pk__in=hits, fault_at__gt=now - PATIENCE)
    rows = waited_for.annotate(last=Max("assignments__submitted_at"))
    times = rows.values_list(Coalesce("last", "published_at"), flat=True)
    return [at for at in times if at is not None] or [now]


def newest(campaign: Campaign) -> datetime:
    """Of what waits for its review. Of the rest, nothing has to be decided."""
    new = Assignment.objects.filter(hit__campaign=campaign, passed=None)
    last: datetime | None = new.aggregate(last=Max("submitted_at"))["last"]
    # Without any, what another process stores meanwhile must wait: it may not be complete.
    return last or campaign.created_at


def is_open(campaign: Campaign) -> bool:
    """Whether votes are still missing."""
    return campaign.triplets.filter(status=Triplet.Status.OPEN).exists()
