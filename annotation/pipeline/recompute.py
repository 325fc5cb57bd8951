"""Everything that follows from the record, in one transaction: nothing of it can be half done."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from annotation.models import Campaign
from annotation.pipeline.collecting.review import review
from annotation.pipeline.labelling.label import counts, write_labels
from annotation.pipeline.ledger.reservations import locked
from annotation.pipeline.outbox.claims import Clock
from annotation.pipeline.publishing.lifecycle import end_unneeded, wind_up
from annotation.pipeline.publishing.top_up import request_missing_votes


@dataclass(frozen=True)
class Recomputed:
    passed: int
    failed: int
    excluded: int
    labelled: int
    open: int
    unresolved: int
    assignments_requested: int


def recompute(
    campaign: Campaign, *, until: datetime | None = None, clock: Clock = timezone.now
) -> Recomputed:
    """Review, exclude, label, and ask for what is missing; each may have been done before.

    `until`: the time up to which no submission is missing from the record.
    """
    with transaction.atomic():
        reviewed = review(campaign, until=until)
        campaign = locked(campaign)
        if campaign.labels_stale:
            write_labels(campaign)
        if campaign.state == Campaign.State.CANCELLED:
            wind_up(campaign, clock())
        end_unneeded(campaign, clock())
        opened = request_missing_votes(campaign)
        states = counts(campaign)
    return Recomputed(
        passed=reviewed.passed,
        failed=reviewed.failed,
        excluded=reviewed.excluded,
        **states,
        assignments_requested=opened,
    )
