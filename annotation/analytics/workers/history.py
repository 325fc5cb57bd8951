"""One worker of a campaign: what they submitted, and what the rule of exclusion makes of it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q, QuerySet

from annotation.models import Assignment, Campaign, Control, HitItem, Judgment, Worker
from annotation.protocol.labels.valid_votes import void_reason
from annotation.protocol.policy.policy import Policy
from annotation.protocol.screening.exclusion import Review, exclusions
from annotation.protocol.screening.peer_agreement import (
    Agreement,
    Compared,
    beside_peers,
    peer_agreement_of,
)

PAGE_SIZE = 50


@dataclass(frozen=True)
class Reviewed:
    """A reviewed submission, in the order in which the rule reads them."""

    assignment: str
    submitted_at: datetime
    passed: bool


@dataclass(frozen=True)
class Evidence:
    """What the rule says of a worker's reviews."""

    failures: int
    reviewed: int
    crossed_by: Reviewed | None  # the review at which the rate was crossed
    crossed_failures: int = 0
    crossed_reviewed: int = 0

    @property
    def rate(self) -> float | None:
        return self.failures / self.reviewed if self.reviewed else None


@dataclass(frozen=True)
class Turn:
    """A line of the worker's history: one assignment."""

    assignment: Assignment
    controls: int
    missed: int  # of these, left without an answer included
    votes: int
    positive: int
    agreement: Agreement

    @property
    def active_ms(self) -> int | None:
        behaviour = getattr(self.assignment, "behaviour", None)
        return behaviour.active_ms if behaviour else None


def assignments_of(campaign: Campaign, worker: Worker) -> QuerySet[Assignment]:
    return Assignment.objects.filter(hit__campaign=campaign, worker=worker)


def reviews_of(campaign: Campaign, worker: Worker) -> list[Reviewed]:
    done = assignments_of(campaign, worker).filter(passed__isnull=False)
    rows = done.order_by("submitted_at", "crowd_id")
    return [
        Reviewed(crowd_id, submitted_at, bool(passed))
        for crowd_id, submitted_at, passed in rows.values_list("crowd_id", "submitted_at", "passed")
    ]


def evidence_of(policy: Policy, reviews: Sequence[Reviewed]) -> Evidence:
    outcomes = [Review("", one.passed) for one in reviews]
    failures = sum(not one.passed for one in reviews)
    exclusion = next(iter(exclusions(outcomes, policy)), None)
    if exclusion is None:
        return Evidence(failures, len(reviews), None)
    by = reviews[exclusion.position]
    return Evidence(failures, len(reviews), by, exclusion.failures, exclusion.reviewed)


def page_of(
    campaign: Campaign, worker: Worker, *, before: int | None, excluded: bool
) -> tuple[list[Turn], bool]:
    """The newest first, from the one before an assignment's key on; whether there are more."""
    assignments = assignments_of(campaign, worker)
    if before is not None and (last := assignments.filter(pk=before).first()) is not None:
        assignments = assignments.filter(
            Q(submitted_at__lt=last.submitted_at)
            | Q(submitted_at=last.submitted_at, pk__lt=last.pk)
        )
    ordered = assignments.order_by("-submitted_at", "-pk").select_related("hit", "behaviour")
    page = list(ordered[: PAGE_SIZE + 1])
    return _entries(worker, page[:PAGE_SIZE], excluded=excluded), len(page) > PAGE_SIZE


def _entries(worker: Worker, assignments: Sequence[Assignment], *, excluded: bool) -> list[Turn]:
    controls = _controls(worker, assignments)
    votes = _votes(assignments, excluded=excluded)
    return [
        _entry(assignment, *controls.get(assignment.hit_id, (0, 0)), votes[assignment.pk])
        for assignment in assignments
    ]


def _entry(assignment: Assignment, controls: int, right: int, votes: Sequence[Compared]) -> Turn:
    return Turn(
        assignment=assignment,
        controls=controls,
        missed=controls - right if assignment.passed is not None else 0,
        votes=len(votes),
        positive=sum(vote.value for vote in votes),
        agreement=peer_agreement_of(votes),
    )


def _controls(worker: Worker, assignments: Sequence[Assignment]) -> dict[int, tuple[int, int]]:
    """HIT -> its controls, and how many of them the worker has answered as they must be."""
    positive = Q(control__kind=Control.Kind.POSITIVE, judgments__value=1)
    negative = Q(control__kind=Control.Kind.NEGATIVE, judgments__value=0)
    right = Q(judgments__assignment__worker=worker) & (positive | negative)
    items = HitItem.objects.filter(
        hit__in=[assignment.hit_id for assignment in assignments], triplet=None
    )
    # The join repeats an item for each worker who has judged it.
    counted = (
        items.order_by()
        .values_list("hit")
        .annotate(controls=Count("pk", distinct=True), right=Count("judgments", filter=right))
    )
    return {hit: (controls, missed) for hit, controls, missed in counted}


def _votes(assignments: Sequence[Assignment], *, excluded: bool) -> Mapping[int, list[Compared]]:
    """Assignment -> its votes beside those of others."""
    votes_of: defaultdict[int, list[Compared]] = defaultdict(list)
    counting = {
        one.pk: void_reason(one.facts([one.worker_id] if excluded else [])) is None
        for one in assignments
    }
    given = Judgment.objects.filter(assignment__in=assignments, triplet__isnull=False)
    rows = given.values_list("assignment_id", "value", "triplet__votes", "triplet__positive_votes")
    for assignment, value, votes, positive in rows:
        vote = beside_peers(value, votes, positive, counts=counting[assignment])
        votes_of[assignment].append(vote)
    return votes_of
