"""HITs that only one side knows: taken over, withdrawn, or published again."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet, Sum

from annotation.crowd.port import CrowdHit
from annotation.models import Assignment, Campaign, Hit, HitItem, OutboxMessage, Triplet
from annotation.pipeline.ledger.reservations import (
    OverBudget,
    account_of,
    book,
    locked,
    release_rest,
    reserve,
)
from annotation.pipeline.outbox.claims import SPENDING, UNSENT
from annotation.pipeline.outbox.messages import token
from annotation.pipeline.publishing.repack import ASSIGNMENTS
from annotation.pipeline.reconcile.money import set_reserved
from annotation.pipeline.reconcile.report import Reconciled, Repair
from annotation.pipeline.reconcile.snapshot import Ours, Sides
from annotation.protocol.estimates.cost import tie_assignments

BATCH = 500
KEPT = timedelta(days=120)  # the crowd forgets HITs after that
LONG_PAST = timedelta(days=1)  # past by any clock


def meet_strangers(sides: Sides, report: Reconciled) -> None:
    """HITs there that bear our mark and whose id was not known here when the list was begun."""
    known = {hit.crowd_id for hit in sides.before.values()}
    strangers: defaultdict[str, list[CrowdHit]] = defaultdict(list)
    for theirs in sides.listing.hits:
        if theirs.hit_id not in known:
            strangers[theirs.annotation].append(theirs)
    listed = {theirs.hit_id for theirs in sides.listing.hits}
    for key, crowd_id, crowd_hits in _with_ours(sides.campaign, strangers):
        if not key:
            why = "no HIT here has its annotation: this database is older than the HIT"
            _withdraw(crowd_hits, sides, why, report)
        elif crowd_id is None:
            _adopt(sides.campaign, max(crowd_hits, key=_progress), sides.now, report)
        elif crowd_id in listed:
            # Ours may have been published while the list was read: then it is among them.
            extra = [theirs for theirs in crowd_hits if theirs.hit_id != crowd_id]
            _withdraw(extra, sides, f"HIT {key} is {crowd_id} there", report)


def _with_ours(
    campaign: Campaign, strangers: Mapping[str, list[CrowdHit]]
) -> Iterator[tuple[str, str | None, list[CrowdHit]]]:
    """(our key or "", our HIT's id there, the strangers that bear it)."""
    keys = list(strangers)
    for batch in (keys[start : start + BATCH] for start in range(0, len(keys), BATCH)):
        # A HIT has its row before it is sent: what has none now never had.
        ours = dict(campaign.hits.filter(key__in=batch).values_list("key", "crowd_id"))
        for key in batch:
            yield (key if key in ours else ""), ours.get(key), strangers[key]


def _progress(theirs: CrowdHit) -> tuple[int, int]:
    return theirs.completed, theirs.submitted


def _adopt(campaign: Campaign, theirs: CrowdHit, now: datetime, report: Reconciled) -> None:
    try:
        with transaction.atomic():
            campaign = locked(campaign)
            hit = campaign.hits.get(key=theirs.annotation)
            message = hit.outbox.filter(kind=OutboxMessage.Kind.CREATE).order_by("pk").last()
            if hit.crowd_id is not None or (message and _is_on_its_way(campaign, message, now)):
                return
            _take_over(campaign, hit, message, theirs, now)
    except OverBudget:
        report.leave(
            f"HIT {theirs.annotation} is at the crowd as {theirs.hit_id}, and the budget of "
            f"{campaign} does not cover it: raise the budget, or expire the HIT there.",
            hit=theirs.annotation,
        )
    else:
        report.did(
            Repair.ADOPTED,
            f"HIT {theirs.annotation} was at the crowd as {theirs.hit_id} unknown to us: "
            "taken over.",
            hit=theirs.annotation,
        )


def _is_on_its_way(campaign: Campaign, message: OutboxMessage, now: datetime) -> bool:
    """Whether `deliver` is about to learn by itself that the HIT is published.

    What was never sent did not make the HIT: then another life of this database did.
    """
    if message.state not in UNSENT or message.first_sent_at is None:
        return False
    alive = now - timedelta(seconds=settings.CLAIM_SECONDS)
    if (
        message.state == OutboxMessage.State.CLAIMED
        and message.claimed_at
        and message.claimed_at >= alive
    ):
        return True
    # What buys is not sent again while the campaign rests.
    return campaign.state not in (Campaign.State.PAUSED, Campaign.State.CANCELLED)


def _take_over(
    campaign: Campaign, hit: Hit, message: OutboxMessage | None, theirs: CrowdHit, now: datetime
) -> None:
    if message is None:
        hit.tie_reserve = _tie_reserve(campaign, hit)
        message = _create_message(campaign, hit, hit.max_assignments)
    else:  # as it is now: somebody may have claimed it meanwhile
        message = OutboxMessage.objects.select_for_update().get(pk=message.pk)
    message.state, message.error, message.retry_at = OutboxMessage.State.DONE, "", None
    message.first_sent_at = message.first_sent_at or now
    message.save()
    hit.crowd_id, hit.published_at = theirs.hit_id, message.first_sent_at
    hit.expires_at, hit.closed_at, hit.gone = theirs.expires_at, None, False
    hit.save()
    set_reserved(campaign, hit)


def _withdraw(extras: Iterable[CrowdHit], sides: Sides, why: str, report: Reconciled) -> None:
    for extra in extras:
        _withdraw_one(extra, sides, why, report)


def _withdraw_one(extra: CrowdHit, sides: Sides, why: str, report: Reconciled) -> None:
    """Nobody takes it any more; unworked it is deleted, else a person decides on the work."""
    crowd = sides.crowd
    if extra.expires_at > sides.now:
        crowd.set_expiration(extra.hit_id, sides.now - LONG_PAST)
        sentence = f"HIT {extra.hit_id} at the crowd ({extra.annotation}) is expired: {why}."
        report.did(Repair.WITHDRAWN, sentence, hit=extra.annotation)
    theirs = crowd.hit(extra.hit_id)
    if theirs is None:
        return
    assignments = list(crowd.submissions(extra.hit_id))
    undecided = sum(assignment.status == "submitted" for assignment in assignments)
    if not assignments and not theirs.pending:
        crowd.delete_hit(extra.hit_id)
        sentence = f"HIT {extra.hit_id}, on which nobody had worked, is deleted."
        report.did(Repair.DELETED, sentence, hit=extra.annotation)
    elif undecided or theirs.pending:
        report.leave(
            f"HIT {extra.hit_id} at the crowd ({extra.annotation}) holds {undecided} assignments "
            f"to be decided, and {theirs.pending} are being worked on: {why}. Approve or reject "
            "them there.",
            hit=extra.annotation,
        )


def find_missing(sides: Sides, report: Reconciled, *, all_gone: bool) -> None:
    """HITs of ours that the crowd does not know any more."""
    if sides.listing.error is not None:
        return
    campaign, now = sides.campaign, sides.now
    listed = {theirs.hit_id for theirs in sides.listing.hits}
    ours = [hit for hit in sides.before.values() if hit.crowd_id is not None and not hit.gone]
    missing = [hit for hit in ours if hit.crowd_id not in listed]
    if missing and len(missing) == len(ours) and not all_gone:
        report.leave(
            f"The crowd lists none of the {len(ours)} HITs of {campaign}: is this the account "
            "that published them? If they are really gone, say so (all gone)."
        )
        return
    forgotten = _forgotten(campaign, missing, now)
    for hit in missing:
        assert hit.crowd_id is not None
        if hit.pk not in forgotten and sides.crowd.hit(hit.crowd_id) is None:
            _give_up(campaign, hit, now, report)


def _forgotten(campaign: Campaign, missing: Iterable[Ours], now: datetime) -> set[int]:
    """HITs that the crowd has dropped by their age when all was done."""
    if not any(hit.published_at and hit.published_at < now - KEPT for hit in missing):
        return set()
    unbooked = Assignment.objects.filter(hit=OuterRef("pk"), account=Assignment.Booked.RESERVED)
    old = campaign.hits.filter(~_wants_votes(), ~Exists(unbooked), published_at__lt=now - KEPT)
    return set(old.values_list("pk", flat=True))


def _wants_votes() -> Exists:
    return Exists(HitItem.objects.filter(hit=OuterRef("pk"), triplet__status=Triplet.Status.OPEN))


def _give_up(campaign: Campaign, ours: Ours, now: datetime, report: Reconciled) -> None:
    """Nobody can submit it any more; what it never sold is free again."""
    with transaction.atomic():
        campaign = locked(campaign)
        hit = campaign.hits.get(pk=ours.pk)
        if hit.gone or hit.crowd_id != ours.crowd_id:
            return
        release_rest(campaign, [hit])
        unsent = hit.outbox.filter(
            kind__in=[OutboxMessage.Kind.EXTEND, OutboxMessage.Kind.LIFETIME],
            state__in=[*UNSENT, OutboxMessage.State.FAILED],
        )
        hit.max_assignments -= unsent.aggregate(lost=Sum("new_assignments", default=0))["lost"]
        unsent.update(state=OutboxMessage.State.CANCELLED, error="", retry_at=None)
        hit.gone, hit.closed_at, hit.tie_reserve = True, hit.closed_at or now, 0
        hit.save()
    sentence = (
        f"HIT {hit.key} ({hit.crowd_id}) is gone from the crowd: its assignments are given up."
    )
    report.did(Repair.GONE, sentence, hit=hit.key)


def publish_again(campaign: Campaign, report: Reconciled) -> None:
    """HITs that were gone before anybody worked on them; the others' triplets are repacked."""
    empty = _gone_unworked(campaign).order_by("number")
    for pk, key, crowd_id in list(empty.values_list("pk", "key", "crowd_id")):
        try:
            with transaction.atomic():
                campaign = locked(campaign)
                hit = _gone_unworked(campaign).filter(pk=pk).first()
                if hit is None or campaign.state == Campaign.State.CANCELLED:
                    continue
                _ask_again(campaign, hit)
        except OverBudget:
            report.leave(
                f"HIT {key} ({crowd_id}) is gone from the crowd, and the budget of "
                f"{campaign} does not cover another publication: raise it.",
                hit=key,
            )
        else:
            sentence = f"HIT {key} will be published again."
            report.did(Repair.PUBLISHED_AGAIN, sentence, hit=key)


def _gone_unworked(campaign: Campaign) -> QuerySet[Hit]:
    # Not those that had expired before: a person decides whether they are prolonged.
    early = campaign.hits.filter(expires_at__gt=F("closed_at"))
    return early.filter(_wants_votes(), gone=True, assignments=None)


def _ask_again(campaign: Campaign, hit: Hit) -> None:
    """With a token of its own: the crowd may still remember the first one."""
    # What was bought for the HIT that is gone counts for the next one no more.
    hit.outbox.filter(kind__in=SPENDING).update(state=OutboxMessage.State.CANCELLED, error="")
    hit.crowd_id = hit.published_at = hit.expires_at = hit.closed_at = None
    hit.gone, hit.fault = False, ""
    hit.max_assignments = ASSIGNMENTS if hit.repack else campaign.policy.annotators
    hit.tie_reserve = _tie_reserve(campaign, hit)
    hit.save()
    message = _create_message(campaign, hit, hit.max_assignments)
    message.save()
    most = hit.max_assignments + hit.tie_reserve
    book([reserve(account_of(campaign), message, assignments=most)])


def _create_message(campaign: Campaign, hit: Hit, assignments: int) -> OutboxMessage:
    generation = hit.outbox.filter(kind=OutboxMessage.Kind.CREATE).count()
    return OutboxMessage(
        campaign=campaign,
        kind=OutboxMessage.Kind.CREATE,
        token=token("create", hit.key, *([generation] if generation else [])),
        hit=hit,
        new_assignments=assignments,
    )


def _tie_reserve(campaign: Campaign, hit: Hit) -> int:
    return 0 if hit.repack else tie_assignments(campaign.policy)
