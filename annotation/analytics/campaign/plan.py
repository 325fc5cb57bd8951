"""What earlier campaigns say of their crowd, and what it would take to label this one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Count, Q
from django.db.models.functions import TruncDate

from annotation.analytics.quality.expert_agreement import expert_figures
from annotation.models import Assignment, Campaign, ExpertLabel
from annotation.pipeline.labelling.vote_table import blind_verdicts
from annotation.pipeline.labelling.votes import ROWS, SUBMISSION, valid_judgments
from annotation.pipeline.ledger.reservations import account_of
from annotation.pipeline.publishing.pack import triplets_to_judge
from annotation.protocol.estimates.plan import (
    Crowd,
    Judged,
    Prediction,
    audit_size,
    choices,
    crowd_of,
    predict,
)
from annotation.protocol.labels.label_error import LabelError
from core.errors import UserError

LEAST_JUDGED = 20  # by experts, of each label, before a crowd is known
AUDIT_WIDTH = 2 / 3  # of the interval, as a share of the error that is wanted


@dataclass(frozen=True)
class Wanted:
    error: float
    cents: int | None = None
    people: int | None = None  # None: as many as worked before
    days: float | None = None


@dataclass(frozen=True)
class Plan:
    """`choice`: the cheapest that is wanted; None: there is none. `own`: what is predicted for the
    campaign's own policy, beside the error and the cost that came of it so far."""

    triplets: int
    judged: int  # by experts, in the campaigns that it is made after
    people: int
    crowd: Crowd
    choices: Sequence[Prediction]
    choice: Prediction | None
    own: Prediction
    came: LabelError | None
    spent_cents: int
    audit: int


def plan_of(campaign: Campaign, wanted: Wanted, like: Sequence[Campaign]) -> Plan:
    """`like`: campaigns whose crowd it is; UserError where experts have judged too little there."""
    judged = [one for each in like for one in _judged(each)]
    for label, kind in enumerate(("negatives", "positives")):
        if (known := sum(one.label == label for one in judged)) < LEAST_JUDGED:
            raise UserError(
                f"Experts have judged {known} {kind} blindly in {', '.join(map(str, like))}, and "
                f"{LEAST_JUDGED} are needed to say how often votes are wrong: have them judge a "
                "sample, or name a campaign where they did by `--like`."
            )
    submitted, failed, workers, days = _work(like)
    crowd = crowd_of(judged, failing=failed / submitted, per_day=submitted / days)
    people = wanted.people or workers
    triplets = triplets_to_judge(campaign)
    made = choices(triplets, campaign.policy, crowd, people=people)
    return Plan(
        triplets,
        len(judged),
        people,
        crowd,
        made,
        next((one for one in made if _is_wanted(one, wanted)), None),
        predict(triplets, campaign.policy, crowd, people=people),
        expert_figures(campaign).label_error,
        account_of(campaign).spent_cents,
        audit_size(wanted.error, AUDIT_WIDTH * wanted.error),
    )


def _is_wanted(made: Prediction, wanted: Wanted) -> bool:
    return (
        made.error <= wanted.error
        and (wanted.cents is None or made.cents <= wanted.cents)
        and (wanted.days is None or made.days <= wanted.days)
    )


def _judged(campaign: Campaign) -> Iterator[Judged]:
    """The first votes alone: later ones are bought where these tie, and are no random sample."""
    said = blind_verdicts(campaign)
    labels = {triplet: int(yes > no) for triplet, (yes, no) in said.items() if yes != no}
    judged = ExpertLabel.objects.filter(triplet__campaign=campaign).values("triplet")
    votes = valid_judgments(campaign).filter(triplet__in=judged)
    first: dict[int, list[int]] = {}
    in_order = votes.order_by(*SUBMISSION).values_list("triplet_id", "value")
    for triplet, value in in_order.iterator(chunk_size=ROWS):
        of_triplet = first.setdefault(triplet, [])
        if len(of_triplet) < campaign.policy.annotators:
            of_triplet.append(value)
    for triplet, label in labels.items():
        if given := first.get(triplet):
            yield Judged(label, len(given), sum(value != label for value in given))


def _work(like: Sequence[Campaign]) -> tuple[int, int, int, int]:
    """Reviewed assignments, those of them that failed, their workers, and the workers' days."""
    reviewed = Assignment.objects.filter(hit__campaign__in=like, passed__isnull=False).order_by()
    counts = reviewed.aggregate(
        submitted=Count("pk"),
        failed=Count("pk", filter=Q(passed=False)),
        workers=Count("worker", distinct=True),
    )
    days = reviewed.values("worker", day=TruncDate("submitted_at")).distinct().count()
    return counts["submitted"], counts["failed"], counts["workers"], days
