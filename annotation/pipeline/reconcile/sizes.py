"""HITs that both sides know, with other figures: their assignments, the time they expire."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet, Sum

from annotation.crowd.port import CrowdHit
from annotation.models import Campaign, Hit, OutboxMessage
from annotation.pipeline.ledger.reservations import OverBudget, locked
from annotation.pipeline.outbox.claims import SPENDING, UNSENT
from annotation.pipeline.outbox.messages import token
from annotation.pipeline.reconcile.money import set_reserved
from annotation.pipeline.reconcile.report import Reconciled, Repair
from annotation.pipeline.reconcile.snapshot import DONE, MADE, Ours, Sides

# We reckon from the moment of our call, the crowd from that of the HIT; collect tells the rest.
SLACK = timedelta(minutes=10)


def compare_sizes(sides: Sides, after: Mapping[str, Ours], report: Reconciled) -> None:
    """`after`: what stands here since the list was read."""
    for listed in sides.listing.hits:
        ours = after.get(listed.annotation)
        if ours is None or ours.crowd_id != listed.hit_id or ours.gone:
            continue
        earlier = sides.before.get(ours.key)
        if earlier is None or earlier.crowd_id is None:
            earlier = ours  # taken over just now
        if earlier.bought <= listed.max_assignments <= ours.asked:
            continue
        # The list may be older than our last call: ask for this one again.
        theirs = sides.crowd.hit(listed.hit_id)
        if theirs is not None and theirs.max_assignments > ours.asked:
            _grow(sides.campaign, ours, theirs, report)
        elif theirs is not None and theirs.max_assignments < ours.bought:
            _shrink(sides.campaign, ours, theirs, report)


def _grow(campaign: Campaign, ours: Ours, theirs: CrowdHit, report: Reconciled) -> None:
    """Somebody has bought assignments by hand: they may be taken, so their money is reserved."""
    try:
        with transaction.atomic():
            campaign = locked(campaign)
            hit = campaign.hits.get(pk=ours.pk)
            extra = theirs.max_assignments - bought_assignments(hit, MADE)
            if hit.crowd_id != theirs.hit_id or extra <= 0:
                return
            hit.max_assignments += extra
            hit.save(update_fields=["max_assignments"])
            _grown(campaign, hit, extra).save()
            set_reserved(campaign, hit)
    except OverBudget:
        report.leave(
            f"HIT {ours.key} ({theirs.hit_id}) has {theirs.max_assignments} assignments at the "
            "crowd, "
            f"{ours.asked} of them ours, and the budget of {campaign} does not cover the others: "
            "raise it.",
            hit=ours.key,
        )
    else:
        report.did(
            Repair.RESIZED,
            f"HIT {ours.key} ({theirs.hit_id}) has {extra} assignments more at the crowd than we "
            "bought: reserved.",
            hit=ours.key,
        )


def _grown(campaign: Campaign, hit: Hit, extra: int) -> OutboxMessage:
    """A call that others have made, so that our calls add up to the crowd's assignments."""
    count = hit.outbox.filter(kind=OutboxMessage.Kind.EXTEND).count()
    return OutboxMessage(
        campaign=campaign,
        kind=OutboxMessage.Kind.EXTEND,
        token=token("grown", hit.key, hit.max_assignments, count),
        hit=hit,
        new_assignments=extra,
        state=OutboxMessage.State.DONE,
    )


def _shrink(campaign: Campaign, ours: Ours, theirs: CrowdHit, report: Reconciled) -> None:
    """Places that we took for bought are not there: they are wanted again where votes are."""
    lacking = ours.bought - theirs.max_assignments
    with transaction.atomic():
        campaign = locked(campaign)
        hit = campaign.hits.get(pk=ours.pk)
        if hit.crowd_id != theirs.hit_id or bought_assignments(hit, DONE) < ours.bought:
            return  # mended meanwhile
        left = lacking
        for message in _buys(hit).filter(state=OutboxMessage.State.DONE).order_by("-pk"):
            left -= _undo(message, left)
        hit.max_assignments -= lacking
        hit.save(update_fields=["max_assignments"])
        set_reserved(campaign, hit)
    report.did(
        Repair.RESIZED,
        f"HIT {ours.key} ({theirs.hit_id}) has {lacking} assignments fewer at the crowd than we "
        "bought: given up.",
        hit=ours.key,
    )


def _undo(message: OutboxMessage, most: int) -> int:
    """Take back at most so many assignments of a call; how many."""
    taken = min(message.new_assignments, most)
    message.new_assignments -= taken
    if not message.new_assignments:
        message.state = OutboxMessage.State.CANCELLED
    message.save(update_fields=["new_assignments", "state"])
    return taken


def bought_assignments(hit: Hit, which: Q) -> int:
    """By the calls that are `which` of DONE and MADE."""
    return int(_buys(hit).filter(which).aggregate(sum=Sum("new_assignments", default=0))["sum"])


def _buys(hit: Hit) -> QuerySet[OutboxMessage]:
    return hit.outbox.filter(kind__in=SPENDING).exclude(state=OutboxMessage.State.CANCELLED)


def compare_times(sides: Sides, report: Reconciled) -> None:
    """When the HITs expire; one that we have closed and somebody has prolonged is open again."""
    first_calls = _first_calls(sides.campaign)
    for theirs in sides.listing.hits:
        ours = sides.before.get(theirs.annotation)
        if ours is None or ours.crowd_id != theirs.hit_id or ours.gone or not ours.expires_at:
            continue
        reopened = ours.closed and theirs.expires_at > sides.now
        slack = SLACK
        if ours.published_at and ours.pk in first_calls:
            slack += ours.published_at - first_calls[ours.pk]
        if reopened or abs(theirs.expires_at - ours.expires_at) > slack:
            _reschedule(sides.campaign, ours, theirs, report, reopen=reopened)


def _first_calls(campaign: Campaign) -> dict[int, datetime]:
    """Of HITs that were asked for more than once: we reckon from the last call, and the crowd may
    have made them at the first.
    """
    again = campaign.outbox.filter(kind=OutboxMessage.Kind.CREATE, attempts__gt=1)
    rows = again.values_list("hit_id", "first_sent_at")
    return {hit: at for hit, at in rows if hit is not None and at is not None}


def _reschedule(
    campaign: Campaign, ours: Ours, theirs: CrowdHit, report: Reconciled, *, reopen: bool
) -> None:
    try:
        with transaction.atomic():
            campaign = locked(campaign)
            hit = campaign.hits.get(pk=ours.pk)
            ordered = hit.outbox.filter(kind=OutboxMessage.Kind.LIFETIME, state__in=UNSENT)
            if hit.expires_at != ours.expires_at or hit.gone or ordered.exists():
                return  # we have moved it ourselves, or are about to
            hit.expires_at = theirs.expires_at
            if reopen:
                hit.closed_at = None
            hit.save(update_fields=["expires_at", "closed_at"])
            set_reserved(campaign, hit)
    except OverBudget:
        report.leave(
            f"HIT {ours.key} ({theirs.hit_id}) is open again at the crowd, and the budget of "
            f"{campaign} does not cover its assignments: raise it, or expire the HIT there.",
            hit=ours.key,
        )
    else:
        state = "is open again" if reopen else "expires at another time"
        report.did(
            Repair.RESCHEDULED,
            f"HIT {ours.key} ({theirs.hit_id}) {state} at the crowd: "
            f"{theirs.expires_at:%Y-%m-%d %H:%M} UTC, stored.",
            hit=ours.key,
        )
