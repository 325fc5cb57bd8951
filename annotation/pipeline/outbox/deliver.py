"""Make the calls that the messages name.

1. Claim some messages with one update: the process that changed the rows has them.
2. Make the calls, outside any transaction: they may take long, and they cannot be rolled back.
3. Record what came of them, with the money that moved, in one transaction, while the next calls
   are made.
"""

import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from time import monotonic

from django.db import transaction
from django.db.models import Q, QuerySet, Sum
from django.utils import timezone

from annotation.crowd.port import Crowd, CrowdError
from annotation.models import Assignment, Campaign, Hit, OutboxMessage
from annotation.pipeline.ledger.reservations import locked, release_rest
from annotation.pipeline.ledger.settlements import (
    release_overturned,
    settle,
    settle_bonuses,
    settle_overturned,
)
from annotation.pipeline.outbox.claims import (
    SPENDING,
    UNSENT,
    Clock,
    claim,
    record_done,
    record_fault,
    renew,
)
from annotation.pipeline.outbox.send import Known, Outcome, is_forgotten, send
from annotation.pipeline.outbox.threads import Caller, calling
from annotation.protocol.screening.qualification import percent_right
from core.files.bulk_insert import update_each
from core.progress import Progress, no_progress
from core.text.money import money


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
    threads: int | None = None,
) -> Delivery:
    """Send what waits. Where the crowd takes no call at all, the rest waits for the next pass.

    What costs money waits while the account cannot pay for it, or the campaign is paused; the
    rest is sent.
    """
    sent = failed = 0
    answered: list[Outcome] = []  # and not yet recorded
    mine = uuid.uuid4().hex
    with calling(crowd, threads=threads) as caller:
        size = caller.fewest
        while True:
            short = _shortfall(campaign, crowd)
            held = _held(campaign, short)
            batch = claim(campaign, clock(), mine, held=held, size=size)
            record = partial(_record, campaign, answered, clock())
            if not batch:
                if not answered:
                    return Delivery(sent, failed, short)
                record()  # what waited for its turn after these calls may follow now
                answered = []
                continue
            # The writer of the messages may have made the HIT type after we looked.
            campaign.refresh_from_db()
            began = monotonic()
            answered = _send_all(batch, campaign, crowd, clock, caller, meanwhile=record)
            size = caller.share(len(batch), monotonic() - began)
            faults = [outcome.error for outcome in answered if outcome.error]
            sent += len(answered) - len(faults)
            failed += sum(error.permanent for error in faults)
            passing = [error for error in faults if not error.permanent]
            progress(len(answered) - len(passing))  # what did not get through still waits
            if len(passing) == len(answered) or any(error.throttled for error in passing):
                _record(campaign, answered, clock())
                return Delivery(sent, failed, str(passing[0]))


def _shortfall(campaign: Campaign, crowd: Crowd) -> str | None:
    """Why the account does not pay for the assignments to buy now; None where it does."""
    campaign.refresh_from_db(fields=["state"])
    if campaign.state not in (Campaign.State.ACTIVE, Campaign.State.CAPPED):
        return None  # what buys is held anyway
    buys = _to_buy(campaign).values_list("hit__price_cents").annotate(new=Sum("new_assignments"))
    prices = dict(buys.order_by())
    needed = sum(price * new for price, new in prices.items())
    if not needed:
        return None
    try:
        balance = crowd.balance_cents()
    except CrowdError as error:  # then nothing is bought, and decisions go out all the same
        _to_buy(campaign).update(error=str(error))
        return str(error)
    if needed <= balance:
        return None
    short = (
        f"{sum(prices.values())} more assignments cost {money(needed)}, but the account at "
        f"{crowd.site.endpoint} holds {money(balance)}: top it up."
    )
    _to_buy(campaign).update(error=short)
    return short


def _to_buy(campaign: Campaign) -> QuerySet[OutboxMessage]:
    """Never sent yet: what was sent may be bought already."""
    return campaign.outbox.filter(kind__in=SPENDING, state__in=UNSENT, first_sent_at=None)


def _held(campaign: Campaign, short: str | None) -> Q:
    """Messages that are not to be sent now."""
    campaign.refresh_from_db(fields=["state"])  # asking for the balance may have taken long
    if campaign.state == Campaign.State.CANCELLED:
        # What was sent once may be bought already: the reconciler looks, without buying.
        return Q(kind__in=SPENDING)
    stopped = short or campaign.state == Campaign.State.PAUSED
    # What was sent once goes on until its answer is known.
    return Q(kind__in=SPENDING if stopped else (), first_sent_at=None)


def _send_all(
    batch: Sequence[OutboxMessage],
    campaign: Campaign,
    crowd: Crowd,
    clock: Clock,
    caller: Caller,
    *,
    meanwhile: Callable[[], object],
) -> list[Outcome]:
    now = clock()

    def beat() -> None:
        renew(batch, clock())

    known = _known(batch, campaign, crowd, now, partial(caller.each, beat=beat))
    if isinstance(known, CrowdError):
        meanwhile()
        return [Outcome(message, error=known) for message in batch]
    return caller.each(
        lambda message: send(message, campaign, crowd, known, now),
        batch,
        beat=beat,
        meanwhile=meanwhile,
    )


def _known(
    batch: Sequence[OutboxMessage],
    campaign: Campaign,
    crowd: Crowd,
    now: datetime,
    each: Callable[[Callable[[Crowd], dict[str, str]], Sequence[Crowd]], list[dict[str, str]]],
) -> Known | CrowdError:
    """The crowd's record, read once for all the messages whose token it may have forgotten."""
    old = [message for message in batch if is_forgotten(message, now)]
    hits: dict[str, str] = {}
    if any(message.kind == OutboxMessage.Kind.CREATE for message in old):
        try:
            (hits,) = each(_ids_by_annotation, [crowd])  # as long as the record is
        except CrowdError as error:
            return error
    # A HIT that the crowd is known to have was published, whatever became of the answer.
    done = Q(state=OutboxMessage.State.DONE) | Q(
        kind=OutboxMessage.Kind.CREATE, hit__crowd_id__isnull=False
    )
    bought = OutboxMessage.objects.filter(
        done, kind__in=SPENDING, hit__in=[message.hit_id for message in old]
    )
    totals = bought.order_by().values_list("hit").annotate(total=Sum("new_assignments"))
    passed = [message.worker_id for message in batch if message.kind == OutboxMessage.Kind.TRAIN]
    return Known(
        hits,
        {hit: total for hit, total in totals if hit is not None},
        _scores(campaign, passed) if passed else {},
    )


def _ids_by_annotation(crowd: Crowd) -> dict[str, str]:
    return {hit.annotation: hit.hit_id for hit in crowd.hits()}


def _scores(campaign: Campaign, workers: Collection[int | None]) -> dict[int, int]:
    """Worker -> the percent that they had right when they passed."""
    passed = campaign.qualification_results.filter(worker__in=workers, passed=True)
    rows = passed.values_list("worker_id", "correct", "items")
    return {worker: percent_right(correct, items) for worker, correct, items in rows}


@transaction.atomic
def _record(campaign: Campaign, outcomes: Sequence[Outcome], now: datetime) -> None:
    if not outcomes:
        return
    campaign = locked(campaign)
    done = [outcome for outcome in outcomes if outcome.error is None]
    _record_hits(done, now)
    for status in (Assignment.Status.APPROVED, Assignment.Status.REJECTED):
        mine = [outcome.message.assignment_id for outcome in done if outcome.status == status]
        record_status([assignment for assignment in mine if assignment is not None], status)
    record_done([outcome.message for outcome in done])
    _free_unopened(campaign, outcomes, now)
    settle(campaign)
    kinds = {outcome.message.kind for outcome in outcomes}
    if OutboxMessage.Kind.BONUS in kinds:
        settle_bonuses(campaign)
    if OutboxMessage.Kind.OVERTURN in kinds:
        settle_overturned(campaign)
    for outcome in outcomes:
        if outcome.error is not None:
            record_fault(outcome.message, outcome.error, now)
    if OutboxMessage.Kind.OVERTURN in kinds:
        release_overturned(campaign)


def _record_hits(done: Sequence[Outcome], now: datetime) -> None:
    published: dict[int, str] = {}
    expiring: defaultdict[datetime, list[int]] = defaultdict(list)
    for outcome in done:
        hit = outcome.message.hit_id
        if hit is None or outcome.expires_at is None:
            continue
        expiring[outcome.expires_at].append(hit)
        if outcome.crowd_id:
            published[hit] = outcome.crowd_id
    update_each(Hit, "crowd_id", published)
    Hit.objects.filter(pk__in=published).update(published_at=now)
    for at, hits in expiring.items():
        mine = Hit.objects.filter(pk__in=hits)
        mine.update(expires_at=at)
        if at > now:
            mine.exclude(closed_at=None).update(closed_at=None)


def _free_unopened(campaign: Campaign, outcomes: Sequence[Outcome], now: datetime) -> None:
    """HITs that were to be opened again, and are not: the crowd refused, or it came too late."""
    over = [
        outcome.message.hit_id
        for outcome in outcomes
        if outcome.message.kind == OutboxMessage.Kind.LIFETIME
        and (outcome.error.permanent if outcome.error else _is_past(outcome, now))
    ]
    hits = campaign.hits.filter(pk__in=[hit for hit in over if hit]).exclude(closed_at=None)
    release_rest(campaign, list(hits))


def _is_past(outcome: Outcome, now: datetime) -> bool:
    return outcome.expires_at is not None and outcome.expires_at <= now


def record_status(assignments: Sequence[int], status: Assignment.Status) -> None:
    """The crowd's decision on these assignments. The ledger books it after."""
    Assignment.objects.filter(pk__in=assignments).exclude(status=status).update(status=status)
