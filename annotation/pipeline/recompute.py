"""Everything that follows from the record, in one transaction: nothing of it can be half done."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from annotation.models import Campaign, Event
from annotation.notifications.events import note_condition
from annotation.pipeline.collecting.review import review
from annotation.pipeline.labelling.label import counts, write_labels
from annotation.pipeline.ledger.reservations import account_of, locked
from annotation.pipeline.outbox.claims import Clock
from annotation.pipeline.publishing.lifecycle import wind_up
from annotation.pipeline.publishing.top_up import request_missing_votes

NEARLY_PERCENT = 90  # of the budget: so much of it spent is told


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
        opened = request_missing_votes(campaign)
        found = counts(campaign)
        _note_conditions(campaign, found, clock())
    return Recomputed(
        passed=reviewed.passed,
        failed=reviewed.failed,
        excluded=reviewed.excluded,
        **found,
        assignments_requested=opened,
    )


def _note_conditions(campaign: Campaign, found: Mapping[str, int], now: datetime) -> None:
    """Whether all is decided, and whether the money may not last until then."""
    is_complete = not found["open"] and any(found.values())
    is_living = campaign.state != Campaign.State.CANCELLED
    decided = {"labelled": found["labelled"], "unresolved": found["unresolved"]}
    causes = {"": decided} if is_complete and is_living else {}
    note_condition(campaign, Event.Type.COMPLETE, causes, at=now)
    account = account_of(campaign)
    spent, budget = account.spent_cents, account.budget_cents
    nearly = found["open"] and is_living and 0 < budget * NEARLY_PERCENT <= spent * 100
    money = {"spent_cents": spent, "budget_cents": budget, "open": found["open"]}
    note_condition(campaign, Event.Type.BUDGET, {"": money} if nearly else {}, at=now)
