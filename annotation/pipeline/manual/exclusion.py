"""Exclude a worker, or take them back: votes, money and labels in one transaction."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from annotation.crowd.worker_notices import PAID, reason_of
from annotation.models import (
    Assignment,
    Campaign,
    Exclusion,
    OutboxMessage,
    PastRecord,
    Triplet,
    Worker,
)
from annotation.pipeline.labelling.label import write_labels_in
from annotation.pipeline.labelling.votes import valid_judgments
from annotation.pipeline.ledger import settlements
from annotation.pipeline.ledger.reservations import account_of, locked
from annotation.pipeline.outbox.messages import cancel_messages, token
from core.errors import UserError

Kind = OutboxMessage.Kind
Outcome = TypeVar("Outcome")


@dataclass(frozen=True)
class Change:
    """What follows when a worker's votes count again, or no longer."""

    worker: str
    votes: int
    cents: int  # that move between paid and discarded
    labels_changed: int  # other label, or none any more, or one now
    triplets_reopened: int  # of these: their votes have to be bought again


@dataclass(frozen=True)
class Tally:
    """A worker's valid votes, the campaign's money, the outcomes of what the worker judged."""

    votes: int
    paid_cents: int
    outcomes: dict[int, tuple[str, int | None]]  # triplet -> status and label


def preview(act: Callable[[], Outcome]) -> Outcome:
    """What `act` would change: it is carried out and taken back."""
    with transaction.atomic():
        outcome = act()
        transaction.set_rollback(True)
    return outcome


@transaction.atomic
def restore(campaign: Campaign, worker_id: str) -> Change:
    """The votes come back, and what was bought in their place stays."""
    campaign = locked(campaign)
    exclusion = exclusions_of(campaign, worker_id).select_related("worker").first()
    if exclusion is None:
        raise UserError(f"Worker {worker_id!r} is not excluded from campaign {campaign}.")
    before = _tally(campaign, exclusion.worker)
    exclusion.restored_at = timezone.now()
    exclusion.save(update_fields=["restored_at"])
    settlements.restore(campaign, [exclusion.worker_id])
    _restore_at_crowd(campaign, exclusion)
    return _recount(campaign, exclusion.worker, before)


@transaction.atomic
def exclude(campaign: Campaign, worker_id: str, *, reason: str) -> Change:
    """By hand, whatever the worker's controls say; the next pass buys the lost votes again."""
    campaign = locked(campaign)
    if exclusions_of(campaign, worker_id).exists():
        raise UserError(f"Worker {worker_id!r} is excluded from campaign {campaign} already.")
    worker = excludable(campaign, worker_id)
    before = _tally(campaign, worker)
    reviewed = Assignment.objects.filter(hit__campaign=campaign, worker=worker)
    counts = reviewed.aggregate(
        failures=Count("pk", filter=Q(passed=False)),
        reviewed=Count("pk", filter=Q(passed__isnull=False)),
    )
    exclusion = Exclusion.objects.create(
        campaign=campaign, worker=worker, reason=reason.strip(), **counts
    )
    settlements.discard(campaign, [worker.pk])
    sentences = [reason_of(exclusion), *([PAID] if campaign.policy.reward_cents else [])]
    _call(campaign, Kind.EXCLUDE, exclusion, " ".join(sentences))
    return _recount(campaign, worker, before)


def exclusions_of(campaign: Campaign, worker_id: str) -> QuerySet[Exclusion]:
    return campaign.exclusions.filter(worker__worker_id=worker_id, restored_at=None)


def worker_in(campaign: Campaign, worker_id: str) -> Worker:
    worker = Worker.objects.filter(worker_id=worker_id, assignments__hit__campaign=campaign).first()
    if worker is None:
        raise UserError(f"Nobody called {worker_id!r} has submitted work in campaign {campaign}.")
    return worker


def excludable(campaign: Campaign, worker_id: str) -> Worker:
    """Also one of the crowd who is known from elsewhere, before they do anything here."""
    known = Worker.objects.filter(worker_id=worker_id, crowd=campaign.policy.crowd)
    worker = known.filter(Exists(PastRecord.objects.filter(worker=OuterRef("pk")))).first()
    return worker or worker_in(campaign, worker_id)


def _restore_at_crowd(campaign: Campaign, exclusion: Exclusion) -> None:
    """Nothing is to be taken back where the crowd was never told."""
    messages = campaign.outbox.filter(kind=Kind.EXCLUDE, worker=exclusion.worker)
    cancel_messages(messages)
    if messages.exclude(first_sent_at=None).exists():
        _call(campaign, Kind.RESTORE, exclusion, "You may work in this campaign again.")


def _call(campaign: Campaign, kind: Kind, exclusion: Exclusion, reason: str) -> None:
    OutboxMessage.objects.create(
        campaign=campaign,
        kind=kind,
        token=token(kind, campaign.uid.hex, exclusion.worker_id, exclusion.pk),
        worker=exclusion.worker,
        reason=reason,
    )


def _tally(campaign: Campaign, worker: Worker) -> Tally:
    judged = Triplet.objects.filter(campaign=campaign, judgments__assignment__worker=worker)
    rows = judged.values_list("pk", "status", "label")
    return Tally(
        votes=valid_judgments(campaign).filter(worker=worker).count(),
        paid_cents=account_of(campaign).paid_cents,
        outcomes={pk: (status, label) for pk, status, label in rows},
    )


def _recount(campaign: Campaign, worker: Worker, before: Tally) -> Change:
    worked_on = campaign.hits.filter(assignments__worker=worker).order_by("pk")
    write_labels_in(campaign, list(worked_on.values_list("pk", flat=True)))
    after = _tally(campaign, worker)
    changed = [one for one in after.outcomes if after.outcomes[one] != before.outcomes[one]]
    reopened = [one for one in changed if after.outcomes[one][0] == Triplet.Status.OPEN]
    return Change(
        worker=worker.worker_id,
        votes=abs(after.votes - before.votes),
        cents=abs(after.paid_cents - before.paid_cents),
        labels_changed=len(changed),
        triplets_reopened=len(reopened),
    )
