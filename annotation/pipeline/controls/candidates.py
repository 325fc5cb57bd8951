"""Controls that the record of votes proposes; a person confirms each, or dismisses it."""

from dataclasses import dataclass
from datetime import datetime
from heapq import nlargest
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from annotation.models import (
    Campaign,
    Control,
    ControlCandidate,
    ExpertLabel,
    ItemReport,
    Triplet,
)
from annotation.pipeline.controls.controls import Texts, add_own, add_positive
from annotation.pipeline.controls.own_controls import is_packed_with_own
from annotation.pipeline.labelling.votes import ROWS, valid_judgments
from annotation.protocol.labels.control_candidates import (
    STEADY_VOTES,
    is_beyond_dispute,
    is_clear,
    is_short,
    is_steady,
)
from core.errors import UserError
from core.progress import Progress, no_progress

MOST_OPEN = 60  # that wait for a person, of one campaign
TEXTS = ("candidate__query__text", "candidate__pair__question", "candidate__pair__answer")
State = ControlCandidate.State


@dataclass(frozen=True)
class CandidateCounts:
    looked_at: int
    new: int
    open: int  # that wait for a person now


class _Fit(NamedTuple):
    """A triplet that may be a control: those that more people agreed on come first."""

    votes: int
    minus_length: int  # of its texts: the simpler ones first
    pk: int


def find_candidates(campaign: Campaign, *, progress: Progress = no_progress) -> CandidateCounts:
    """Run again it finds others: what was confirmed or dismissed is not proposed twice.

    Negatives are proposed where the campaign has controls of its own: of the pool, they are drawn.
    """
    clear = is_clear if campaign.policy.task_type.shows_question else is_short
    labels = (1, 0) if is_packed_with_own(campaign) else (1,)
    looked_at = new = 0
    for label in labels:
        fits = []
        for row in _unanimous(campaign, label).iterator(chunk_size=ROWS):
            looked_at += 1
            progress(1)
            pk, votes, positive, by_steady, by_expert, *texts = row
            agreed = is_beyond_dispute(
                votes=votes, positive=positive, is_confirmed=by_steady or by_expert
            )
            if agreed and clear(*texts, label=label):
                fits.append(_Fit(votes, -sum(map(len, texts)), pk))
        waiting = _open(campaign).filter(triplet__label=label).count()
        chosen = nlargest(max(0, MOST_OPEN // len(labels) - waiting), fits)
        # Two at once may choose the same: one row a triplet.
        ControlCandidate.objects.bulk_create(
            [ControlCandidate(triplet_id=fit.pk) for fit in chosen], ignore_conflicts=True
        )
        new += len(chosen)
    return CandidateCounts(looked_at, new, _open(campaign).count())


def _open(campaign: Campaign) -> QuerySet[ControlCandidate]:
    return control_candidates(campaign).filter(state=State.OPEN)


def control_candidates(campaign: Campaign) -> QuerySet[ControlCandidate]:
    return ControlCandidate.objects.filter(triplet__campaign=campaign)


@transaction.atomic
def confirm(candidate: ControlCandidate, texts: Texts, *, by: str, now: datetime) -> Control:
    """The words may differ from the triplet's; the candidate keeps where they came from.

    It joins the pool, or the campaign's own controls where it was packed with such.
    """
    triplet, label = candidate.triplet, candidate.triplet.label
    agreeing = triplet.positive_votes if label else triplet.votes - triplet.positive_votes
    if (
        label is None
        or triplet.votes != agreeing
        or triplet.expert_labels.exclude(label=label).exists()
    ):
        raise UserError(
            f"Triplet {triplet.pk} has no label, or somebody disagrees: dismiss the candidate."
        )
    _decide(candidate, State.CONFIRMED, by=by, now=now)
    if is_packed_with_own(triplet.campaign):
        kind = Control.Kind.POSITIVE if label else Control.Kind.NEGATIVE
        control = add_own(triplet.campaign, kind, texts)
    else:
        control = add_positive(texts, triplet.campaign.policy.task_type)
    ControlCandidate.objects.filter(pk=candidate.pk).update(control=control)
    return control


@transaction.atomic
def dismiss(candidate: ControlCandidate, *, by: str, now: datetime) -> None:
    _decide(candidate, State.DISMISSED, by=by, now=now)


def _decide(
    candidate: ControlCandidate, state: ControlCandidate.State, *, by: str, now: datetime
) -> None:
    still_open = ControlCandidate.objects.filter(pk=candidate.pk, state=State.OPEN)
    if not still_open.update(state=state, decided_by=by, decided_at=now):
        raise UserError("Somebody has decided on this candidate already.")


def _unanimous(campaign: Campaign, label: int) -> QuerySet[Triplet, Any]:
    """Nobody has said otherwise, no expert either, nor reported them: key, votes, who, texts."""
    reports = ItemReport.objects.filter(item__triplet=OuterRef("pk"))
    experts = ExpertLabel.objects.filter(triplet=OuterRef("pk"))
    votes = valid_judgments(campaign).filter(triplet=OuterRef("pk"))
    by_steady = ~Exists(votes.exclude(worker__in=_steady_workers(campaign)))
    labelled = campaign.triplets.filter(
        label=label,
        positive_votes=F("votes") * label,
        votes__gte=STEADY_VOTES,
        control_candidate=None,
    )
    undenied = labelled.exclude(Exists(reports)).exclude(Exists(experts.exclude(label=label)))
    rows = undenied.annotate(by_steady=by_steady, by_expert=Exists(experts)).order_by("pk")
    return rows.values_list("pk", "votes", "positive_votes", "by_steady", "by_expert", *TEXTS)


def _steady_workers(campaign: Campaign) -> list[int]:
    """By their valid votes on labelled triplets."""
    votes = valid_judgments(campaign).filter(triplet__label__isnull=False).order_by()
    agreed = Count("pk", filter=Q(value=F("triplet__label")))
    rows = votes.values_list("worker").annotate(judged=Count("pk"), agreed=agreed)
    return [worker for worker, judged, agreed in rows if is_steady(judged, agreed)]
