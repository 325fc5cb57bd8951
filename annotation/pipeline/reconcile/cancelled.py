"""Purchases of a cancelled campaign that were sent, and whose answer was lost.

Nothing is bought for it any more, so nobody sends them again: the crowd's record is the answer.
"""

from datetime import timedelta

from django.conf import settings
from django.db import transaction

from annotation.models import Campaign, OutboxMessage
from annotation.pipeline.ledger.reservations import locked
from annotation.pipeline.outbox.claims import SPENDING, UNSENT
from annotation.pipeline.reconcile.money import set_reserved
from annotation.pipeline.reconcile.report import Reconciled, Repair
from annotation.pipeline.reconcile.sizes import bought_assignments
from annotation.pipeline.reconcile.snapshot import DONE, Sides


def answer_purchases(sides: Sides, report: Reconciled) -> None:
    """After the HITs there that were unknown here have been taken over."""
    sides.campaign.refresh_from_db(fields=["state"])
    if sides.campaign.state != Campaign.State.CANCELLED or sides.listing.error is not None:
        return
    # The process that sent it has had the answer or is dead.
    lapsed = sides.now - timedelta(seconds=settings.CLAIM_SECONDS)
    unanswered = sides.campaign.outbox.filter(
        kind__in=SPENDING, state__in=UNSENT, first_sent_at__isnull=False, claimed_at__lt=lapsed
    )
    for message in unanswered.select_related("hit").order_by("pk"):
        _answer(message, sides, report, made=_was_made(message, sides))


def _was_made(message: OutboxMessage, sides: Sides) -> bool:
    hit = message.hit
    assert hit is not None
    if message.kind == OutboxMessage.Kind.CREATE or hit.crowd_id is None:
        return any(theirs.annotation == hit.key for theirs in sides.listing.hits)
    theirs = sides.crowd.hit(hit.crowd_id)
    least = bought_assignments(hit, DONE) + message.new_assignments
    return theirs is not None and theirs.max_assignments >= least


def _answer(message: OutboxMessage, sides: Sides, report: Reconciled, *, made: bool) -> None:
    if made and message.kind == OutboxMessage.Kind.CREATE:
        return  # to be taken over, which the budget may not allow yet
    with transaction.atomic():
        campaign = locked(sides.campaign)
        same = OutboxMessage.objects.filter(
            pk=message.pk, state=message.state, claim=message.claim, claimed_at=message.claimed_at
        )
        state = OutboxMessage.State.DONE if made else OutboxMessage.State.CANCELLED
        if campaign.state != Campaign.State.CANCELLED or not same.update(state=state, error=""):
            return
        assert message.hit is not None
        hit = campaign.hits.get(pk=message.hit.pk)
        if message.kind == OutboxMessage.Kind.EXTEND and not made:
            hit.max_assignments -= message.new_assignments
            hit.save(update_fields=["max_assignments"])
            set_reserved(campaign, hit)
    outcome = "was made" if made else "was not made"
    report.did(
        Repair.ANSWERED,
        f"The {message.kind} of HIT {hit.key} was sent before {campaign} was cancelled, and its "
        f"answer lost: the crowd's record says that it {outcome}.",
        hit=hit.key,
    )
