"""Shut a worker out by hand, or take them back: votes, money and labels in one transaction."""

from collections.abc import Callable
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count, Q, Sum
from django.utils import timezone

from annotation.models import Assignment, Campaign, Exclusion, Intent, Triplet, Worker
from annotation.pipeline import ledger
from annotation.pipeline.label import write_labels
from annotation.pipeline.publish import token
from annotation.pipeline.votes import valid_judgments
from annotation.pipeline.withdraw import withdraw
from retrieval.errors import UserError

Kind = Intent.Kind
Outcomes = dict[int, tuple[str, int | None]]  # triplet -> status and label


@dataclass(frozen=True)
class Change:
    """What follows when a worker's votes count again, or no longer."""

    worker: str
    votes: int
    assignments: int  # whose money moves between paid and discarded
    cents: int
    labels_changed: int  # other label, or none any more, or one now
    triplets_reopened: int  # of these: their votes have to be bought again


def foresee(act: Callable[[], Change]) -> Change:
    """What `act` would change: it is carried out and taken back."""
    with transaction.atomic():
        change = act()
        transaction.set_rollback(True)
    return change


@transaction.atomic
def restore(campaign: Campaign, worker_id: str) -> Change:
    """The votes come back, and what was bought in their place stays."""
    campaign = ledger.locked(campaign)
    exclusion = _exclusions(campaign, worker_id).select_related("worker").first()
    if exclusion is None:
        raise UserError(f"Worker {worker_id!r} is not excluded from campaign {campaign}.")
    worker = exclusion.worker
    before = _outcomes(campaign, worker)
    exclusion.restored_at = timezone.now()
    exclusion.save(update_fields=["restored_at"])
    moved = ledger.restore(campaign)
    _readmit(campaign, exclusion)
    return _recount(campaign, worker, before, moved, votes=_votes(campaign, worker))


@transaction.atomic
def exclude(campaign: Campaign, worker_id: str, *, reason: str) -> Change:
    """By hand, whatever the worker's controls say; the next pass buys the lost votes again."""
    campaign = ledger.locked(campaign)
    if _exclusions(campaign, worker_id).exists():
        raise UserError(f"Worker {worker_id!r} is excluded from campaign {campaign} already.")
    worker = _worker(campaign, worker_id)
    before, votes = _outcomes(campaign, worker), _votes(campaign, worker)
    reviewed = Assignment.objects.filter(hit__campaign=campaign, worker=worker)
    counts = reviewed.aggregate(
        failures=Count("pk", filter=Q(passed=False)),
        reviewed=Count("pk", filter=Q(passed__isnull=False)),
    )
    exclusion = Exclusion.objects.create(campaign=campaign, worker=worker, **counts)
    moved = ledger.discard(campaign)
    _call(campaign, Kind.EXCLUDE, exclusion, reason)
    return _recount(campaign, worker, before, moved, votes=votes)


def _exclusions(campaign: Campaign, worker_id: str) -> "QuerySet[Exclusion]":
    return campaign.exclusions.filter(worker__worker_id=worker_id, restored_at=None)


def _worker(campaign: Campaign, worker_id: str) -> Worker:
    worker = Worker.objects.filter(
        worker_id=worker_id, assignments__hit__campaign=campaign
    ).first()
    if worker is None:
        raise UserError(f"Nobody called {worker_id!r} has handed in work in campaign {campaign}.")
    return worker


def _readmit(campaign: Campaign, exclusion: Exclusion) -> None:
    """Nothing is to be taken back where the crowd was never told."""
    told = campaign.intents.filter(kind=Kind.EXCLUDE, worker=exclusion.worker)
    withdraw(told)
    if told.exclude(state=Intent.State.WITHDRAWN).exists():
        _call(campaign, Kind.READMIT, exclusion, "You may work in this campaign again.")


def _call(campaign: Campaign, kind: Kind, exclusion: Exclusion, reason: str) -> None:
    Intent.objects.create(
        campaign=campaign,
        kind=kind,
        token=token(kind, campaign.uid.hex, exclusion.worker_id, exclusion.pk),
        worker=exclusion.worker,
        reason=reason,
    )


def _votes(campaign: Campaign, worker: Worker) -> int:
    return valid_judgments(campaign).filter(worker=worker).count()


def _outcomes(campaign: Campaign, worker: Worker) -> Outcomes:
    """Of the triplets that the worker has judged."""
    judged = Triplet.objects.filter(campaign=campaign, judgments__worker=worker)
    return {pk: (status, label) for pk, status, label in judged.values_list("pk", "status", "label")}


def _recount(
    campaign: Campaign, worker: Worker, before: Outcomes, moved: int, *, votes: int
) -> Change:
    write_labels(campaign)
    after = _outcomes(campaign, worker)
    changed = [triplet for triplet in after if after[triplet] != before[triplet]]
    return Change(
        worker=worker.worker_id,
        votes=votes,
        assignments=moved,
        cents=_moved_cents(campaign, worker),
        labels_changed=len(changed),
        triplets_reopened=sum(after[one][0] == Triplet.Status.OPEN for one in changed),
    )
