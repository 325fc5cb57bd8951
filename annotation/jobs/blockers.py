"""Who runs a campaign is told when it stands still: once for each cause, as long as it lasts."""

from collections import defaultdict
from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from annotation.analytics.campaign.status import Blocker, blockers, campaign_status
from annotation.models import Campaign, Event, OutboxMessage
from annotation.notifications.events import note_condition
from annotation.pipeline.ledger.reservations import locked
from annotation.pipeline.outbox.claims import UNSENT, Clock
from annotation.pipeline.publishing.outlook import takeable_hits

PATIENCE = 5  # attempts at a call that may yet come through


@transaction.atomic
def note_blocked(campaign: Campaign, *, clock: Clock = timezone.now) -> list[Event]:
    now = clock()
    campaign = locked(campaign)
    causes = defaultdict[str, list[str]](list)
    for blocker in _needing_somebody(campaign, now):
        causes[blocker.operation or ""].append(str(blocker))
    details = {cause: {"reasons": reasons} for cause, reasons in causes.items()}
    return note_condition(campaign, Event.Type.BLOCKED, details, at=now)


def _needing_somebody(campaign: Campaign, now: datetime) -> list[Blocker]:
    lasting = [one for one in blockers(campaign, clock=lambda: now) if _stays(one, campaign, now)]
    status = campaign_status(campaign) if campaign.state == Campaign.State.CAPPED else None
    return [*lasting, status] if status and status.operation else lasting


def _stays(blocker: Blocker, campaign: Campaign, now: datetime) -> bool:
    """Not a call that is soon tried again, nor HITs behind a first batch that is under way."""
    if blocker.operation == "publish":
        return not takeable_hits(campaign, now).exists()
    if blocker.operation == "retry":
        waits = Q(attempts=0) | Q(attempts__gte=PATIENCE)  # for money, or in vain
        unsent = Q(waits, state__in=UNSENT) & ~Q(error="")
        return campaign.outbox.filter(unsent | Q(state=OutboxMessage.State.FAILED)).exists()
    return True
