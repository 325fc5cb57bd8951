"""What earlier campaigns say of their crowd, and what it would take to label this one, or another.

A campaign that was made from a plan keeps what was predicted of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import TruncDate

from annotation.analytics.campaign.charts import Chart, Series
from annotation.analytics.quality.expert_agreement import expert_figures
from annotation.models import Assignment, Campaign, ExpertLabel, Triplet, TripletCount
from annotation.pipeline.labelling.known_answers import blind_verdicts
from annotation.pipeline.labelling.votes import (
    CHOSEN_WITHOUT_LOOKING,
    ROWS,
    SUBMISSION,
    valid_judgments,
)
from annotation.pipeline.ledger.reservations import account_of
from annotation.pipeline.publishing.pack import triplets_to_judge
from annotation.protocol.estimates.cost import is_free
from annotation.protocol.estimates.plan import (
    Crowd,
    Judged,
    Prediction,
    audit_size,
    choices,
    crowd_of,
    error_intervals,
    predict,
)
from annotation.protocol.labels.expert_agreement import rounded
from annotation.protocol.labels.label_error import LabelError
from annotation.protocol.policy.policy import Policy
from core.errors import UserError
from core.text.money import money, unit
from core.text.words import percent

LEAST_JUDGED = 20  # by experts, of each label, before a crowd is known
AUDIT_WIDTH = 2 / 3  # of the interval, as a share of the error that is wanted
LEAST_ERROR, USUAL_ERROR, MOST_ERROR = 0.001, 0.05, 0.5
MOST_PEOPLE = 100_000
LEAST_DAYS = 0.01
MOST_QUERIES = 10_000_000
# What a choice sets in a policy.
CHOSEN = ("annotators", "max_votes", "tie_mode", "aggregation", "wanted_confidence")


@dataclass(frozen=True)
class Wanted:
    error: float
    cents: int | None = None
    people: int | None = None  # None: as many as worked before
    days: float | None = None
    queries: int | None = None  # of a campaign that is still to come; None: this campaign


@dataclass(frozen=True)
class Choice:
    """`low` and `high`: of the error's 95 % interval; `lacks`: why it is not what was wanted."""

    made: Prediction
    low: float
    high: float
    lacks: Sequence[str]

    @property
    def name(self) -> str:
        policy = self.made.policy
        if policy.is_adaptive:
            return f"{policy.wanted_confidence:.0%} sure"
        return f"majority of {policy.annotators}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "choice": self.name,
            "error_interval": [rounded(self.low), rounded(self.high)],
            **_prediction(self.made),
            "policy": {name: getattr(self.made.policy, name) for name in CHOSEN},
            "lacks": list(self.lacks),
        }


@dataclass(frozen=True)
class Plan:
    """`choice`: the cheapest that is wanted; None: there is none. `own`: what is predicted for the
    campaign's own policy, beside the error and the cost that came of it so far."""

    triplets: int
    judged: int  # by experts, in the campaigns that it is made after
    people: int
    crowd: Crowd
    choices: Sequence[Choice]
    choice: Choice | None
    own: Prediction
    came: LabelError | None
    spent_cents: int
    audit: int

    def to_dict(self) -> dict[str, Any]:
        """As command and API say it."""
        zeros, ones = self.crowd.urns
        came = self.came
        return {
            "triplets": self.triplets,
            "people": self.people,
            "triplets_judged_by_experts": self.judged,
            "share_of_positives": rounded(self.crowd.share),
            "wrong_votes_on_negatives": rounded(zeros.error),
            "wrong_votes_on_positives": rounded(ones.error),
            "assignments_that_fail": rounded(self.crowd.failing),
            "choices": [one.to_dict() for one in self.choices],
            "choice": self.choice and self.choice.to_dict(),
            "own_policy": _prediction(self.own),
            "came": {
                "error": rounded(came.share) if came else None,
                "error_interval": [rounded(came.low), rounded(came.high)] if came else None,
                "cents": self.spent_cents,
            },
            "audit": self.audit,
        }


def _prediction(made: Prediction) -> dict[str, Any]:
    return {
        "annotators": made.policy.annotators,
        "max_votes": made.policy.max_votes,
        "error": rounded(made.error),
        "unresolved": rounded(made.unresolved),
        "votes_per_triplet": round(made.votes, 3),
        "assignments": made.assignments,
        "control_answers": made.control_answers,
        "cents": made.cents,
        "days": round(made.days, 2),
    }


@dataclass(frozen=True)
class _Known:
    """What is known of a crowd."""

    judged: list[Judged]
    crowd: Crowd
    workers: int


def plan_of(campaign: Campaign, wanted: Wanted, like: Sequence[Campaign]) -> Plan:
    """`like`: campaigns whose crowd it is; UserError where experts have judged too little there."""
    known, policy = _known(like), campaign.policy
    people = wanted.people or known.workers
    triplets = (
        wanted.queries * policy.candidates_per_query
        if wanted.queries
        else triplets_to_judge(campaign)
    )
    predicted = choices(triplets, policy, known.crowd, people=people)
    intervals = error_intervals(known.judged, [one.policy for one in predicted])
    made = [
        Choice(one, low, high, _lacks(one, wanted))
        for one, (low, high) in zip(predicted, intervals, strict=True)
    ]
    return Plan(
        triplets,
        len(known.judged),
        people,
        known.crowd,
        made,
        next((one for one in made if not one.lacks), None),
        predict(triplets, policy, known.crowd, people=people),
        expert_figures(campaign).label_error,
        account_of(campaign).spent_cents,
        audit_size(wanted.error, AUDIT_WIDTH * wanted.error),
    )


def check_known(like: Sequence[Campaign]) -> None:
    """UserError where experts have judged too little to know their crowd."""
    if like:
        _known(like)


def _known(like: Sequence[Campaign]) -> _Known:
    like = list(dict.fromkeys(like))  # named twice, its experts know no more
    judged = [one for each in like for one in _judged(each)]
    for label, kind in enumerate(("negatives", "positives")):
        if (known := sum(one.label == label for one in judged)) < LEAST_JUDGED:
            raise UserError(
                f"Experts have judged {known} {kind} blindly in {', '.join(map(str, like))}, and "
                f"{LEAST_JUDGED} are needed to say how often votes are wrong: have them judge a "
                "sample, or plan after another campaign where they did."
            )
    submitted, failed, workers, days = _work(like)
    crowd = crowd_of(judged, failing=failed / submitted, per_day=submitted / days)
    return _Known(judged, crowd, workers)


def _lacks(made: Prediction, wanted: Wanted) -> list[str]:
    lacks = []
    if round(made.error, 3) > wanted.error:
        lacks.append(f"{percent(made.error)} wrong labels, and {percent(wanted.error)} are wanted")
    if wanted.cents is not None and made.cents > wanted.cents:
        lacks.append(f"{money(made.cents - wanted.cents)} above the budget")
    if wanted.days is not None and round(made.days, 1) > wanted.days:
        lacks.append(f"{made.days - wanted.days:.1f} days too long")
    return lacks


def chart_of(plan: Plan) -> Chart:
    """Error by cost, or where nobody is paid by assignments."""
    free = all(is_free(one.made.policy) for one in plan.choices)
    places = [one.made.assignments if free else one.made.cents / 100 for one in plan.choices]

    def line(adaptive: bool) -> list[float | None]:
        return [
            round(100 * one.made.error, 2) if one.made.policy.is_adaptive == adaptive else None
            for one in plan.choices
        ]

    return Chart(
        "plan",
        "Wrong labels by cost",
        "line",
        "assignments" if free else unit(),
        [f"{place:,.0f}" for place in places],
        [Series("Majority, %", line(False)), Series("Until labels are sure, %", line(True))],
        unit="%",
        places=places,
    )


def planned_after(readable: QuerySet[Campaign]) -> QuerySet[Campaign]:
    """Those whose experts have judged something blindly, the newest first."""
    said = ExpertLabel.objects.filter(
        triplet__campaign=OuterRef("pk"), source__in=CHOSEN_WITHOUT_LOOKING
    )
    return readable.filter(Exists(said)).order_by("-pk")


def prediction_of(
    policy: Policy, triplets: int, like: Sequence[Campaign], people: int | None
) -> dict[str, Any]:
    """As a campaign keeps it."""
    known = _known(like)
    team = people or known.workers
    made = predict(triplets, policy, known.crowd, people=team)
    ((low, high),) = error_intervals(known.judged, [policy])
    return {
        "like": list(dict.fromkeys(one.name for one in like)),
        "people": team,
        "triplets": triplets,
        "cents": made.cents,
        "votes_per_triplet": round(made.votes, 3),
        "label_error": rounded(made.error),
        "label_error_interval": [rounded(low), rounded(high)],
        "days": round(made.days, 2),
    }


def planned_and_came(campaign: Campaign) -> Mapping[str, Any] | None:
    """What was predicted when the campaign was made, and what has come of it; None: no plan.

    After which campaigns it was planned is left out: who reads this may not know of them.
    """
    if campaign.plan is None:
        return None
    triplets = TripletCount.objects.filter(campaign=campaign)
    counts = triplets.exclude(status=Triplet.Status.OPEN).aggregate(
        triplets=Sum("more", default=0), votes=Sum(F("votes") * F("more"), default=0)
    )
    error = expert_figures(campaign).label_error
    return {
        "planned": {name: it for name, it in campaign.plan.items() if name != "like"},
        "came": {
            "triplets": counts["triplets"],
            "cents": account_of(campaign).spent_cents,
            "votes_per_triplet": round(counts["votes"] / counts["triplets"], 3)
            if counts["triplets"]
            else None,
            "label_error": rounded(error.share) if error else None,
            "label_error_interval": [rounded(error.low), rounded(error.high)] if error else None,
        },
    }


def plan_in_words(plan: Mapping[str, Any]) -> list[str]:
    """A sentence each for cost, where money moves, votes and label error."""
    planned, came = plan["planned"], plan["came"]
    whole = came["triplets"] >= planned["triplets"]
    so_far = "" if whole else f" for {came['triplets']:,} of {planned['triplets']:,} triplets"
    votes = came["votes_per_triplet"]
    cost = f"cost {money(planned['cents'])} planned, {money(came['cents'])} came out{so_far}"
    return [
        *([cost] if planned["cents"] or came["cents"] else []),
        f"votes a triplet {planned['votes_per_triplet']:.2f} planned, "
        + ("none is decided yet" if votes is None else f"{votes:.2f} came out"),
        f"label error {_share(planned)} planned, "
        + ("unknown" if came["label_error"] is None else f"{_share(came)} came out"),
    ]


def _share(of: Mapping[str, Any]) -> str:
    low, high = map(percent, of["label_error_interval"])
    return f"{percent(of['label_error'])} ({low} to {high})"


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
