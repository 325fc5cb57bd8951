"""What earlier campaigns say of their crowd, and what it would take to label this one, or another.

A campaign that was made from a plan keeps what was predicted of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import gt
from typing import Any

from django.db.models import Exists, F, OuterRef, QuerySet, Sum

from annotation.analytics.campaign.charts import Chart, Series
from annotation.analytics.quality.expert_agreement import expert_figures
from annotation.analytics.workers.crowd import Known, known_of
from annotation.models import Campaign, ExpertLabel, Triplet, TripletCount
from annotation.pipeline.labelling.votes import CHOSEN_WITHOUT_LOOKING
from annotation.pipeline.ledger.reservations import account_of
from annotation.pipeline.publishing.pack import triplets_to_judge
from annotation.protocol.estimates.controls import Controls, Judged, offered
from annotation.protocol.estimates.cost import is_free
from annotation.protocol.estimates.plan import (
    Crowd,
    Prediction,
    audit_size,
    choices,
    error_intervals,
    predict,
)
from annotation.protocol.labels.expert_agreement import rounded
from annotation.protocol.labels.label_error import LabelError
from annotation.protocol.policy.policy import Policy
from core.text.money import money, unit
from core.text.words import percent, plural

AUDIT_WIDTH = 2 / 3  # of the interval, as a share of the error that is wanted
LEAST_ERROR, USUAL_ERROR, MOST_ERROR = 0.001, 0.05, 0.5
MOST_PEOPLE = 100_000
LEAST_DAYS = 0.01
LEAST_HOURS, MOST_HOURS = 0.1, 24
MOST_QUERIES = 10_000_000
# What a choice sets in a policy.
CHOSEN = (
    "positive_controls",
    "negative_controls",
    "annotators",
    "max_votes",
    "tie_mode",
    "aggregation",
    "wanted_confidence",
)


@dataclass(frozen=True)
class Wanted:
    error: float
    cents: int | None = None
    people: int | None = None  # None: as many as worked before
    days: float | None = None
    hours: float | None = None  # that each works a day; None: as they did before
    queries: int | None = None  # of a campaign that is still to come; None: this campaign


@dataclass(frozen=True)
class Choice:
    """`low` and `high`: of the error's 95 % interval; `lacks`: why it is not what was wanted;
    `cautions`: what its fewer controls cost beside errors."""

    made: Prediction
    low: float
    high: float
    lacks: Sequence[str]
    cautions: Sequence[str]

    @property
    def controls(self) -> Controls:
        return Controls.of(self.made.policy)

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
            "cautions": list(self.cautions),
        }


@dataclass(frozen=True)
class Plan:
    """`choice`: the cheapest that is wanted; None: there is none. `own`: what is predicted for the
    campaign's own policy, beside the error and the cost that came of it so far."""

    triplets: int
    judged: int  # by experts, in the campaigns that it is made after
    people: int
    crowd: Crowd
    offered: Sequence[Controls]
    choices: Sequence[Choice]
    choice: Choice | None
    own: Prediction
    came: LabelError | None
    spent_cents: int
    audit: int
    seconds: float | None  # of an assignment, the median; None: nobody asked

    @property
    def cautions(self) -> Mapping[Controls, Sequence[str]]:
        """Of those controls that a choice has."""
        return {one.controls: one.cautions for one in self.choices if one.cautions}

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
            "seconds_an_assignment": None if self.seconds is None else round(self.seconds, 1),
        }


def _prediction(made: Prediction) -> dict[str, Any]:
    return {
        "annotators": made.policy.annotators,
        "max_votes": made.policy.max_votes,
        "positive_controls": made.policy.positive_controls,
        "negative_controls": made.policy.negative_controls,
        "error": rounded(made.error),
        "unresolved": rounded(made.unresolved),
        "votes_per_triplet": round(made.votes, 3),
        "assignments": made.assignments,
        "control_answers": made.control_answers,
        "cents": made.cents,
        "days": round(made.days, 2),
    }


def plan_of(campaign: Campaign, wanted: Wanted, like: Sequence[Campaign]) -> Plan:
    """`like`: campaigns whose crowd it is; UserError where experts have judged too little there."""
    known, policy = known_of(like, timed=wanted.hours is not None), campaign.policy
    people, own = wanted.people or known.workers, Controls.of(campaign.policy)
    triplets = (
        wanted.queries * policy.candidates_per_query
        if wanted.queries
        else triplets_to_judge(campaign)
    )
    per_day = known.per_day(policy, wanted.hours)
    crowds = {
        controls: known.crowd(controls, per_day=per_day)
        for controls in offered(known.asked, policy)
    }
    judged = {controls: known.judged(controls) for controls in crowds}
    cautions = {controls: _cautions(controls, own, known) for controls in crowds}
    predicted = choices(triplets, policy, crowds, people=people, error=wanted.error)
    made = [
        Choice(
            one,
            *_interval(judged[Controls.of(one.policy)], one.policy),
            _lacks(one, wanted),
            cautions[Controls.of(one.policy)],
        )
        for one in predicted
    ]
    return Plan(
        triplets,
        round(sum(known.judged(known.asked).values())),
        people,
        crowds[own],
        list(crowds),
        made,
        next((one for one in made if not one.lacks), None),
        predict(triplets, policy, crowds[own], people=people),
        expert_figures(campaign).label_error,
        account_of(campaign).spent_cents,
        audit_size(wanted.error, AUDIT_WIDTH * wanted.error),
        known.item_seconds and known.item_seconds * policy.hit_size,
    )


def check_known(like: Sequence[Campaign], *, hours: float | None = None) -> None:
    """UserError where too little is known of their crowd."""
    if like:
        known_of(like, timed=hours is not None).per_day(like[0].policy, hours)


def _interval(judged: Mapping[Judged, float], policy: Policy) -> tuple[float, float]:
    """Of the predicted error."""
    (interval,) = error_intervals(judged, [policy])
    return interval


def _cautions(kept: Controls, own: Controls, known: Known) -> list[str]:
    """What controls cost that are taken away from the campaign's own."""
    if any(map(gt, kept, known.asked)):
        return ["that crowd never had so many: what the extra ones catch is not predicted"]
    cautions = []
    if sum(kept) < sum(own):
        cautions = [
            f"guessers pass {percent(kept.guessed)} of their work instead of "
            f"{percent(own.guessed)}, and are excluded later",
            f"the aggregator knows workers by {sum(kept)} answers an assignment instead of "
            f"{sum(own)}",
        ]
    if staying := known.staying(kept):
        out = plural(known.excluded, "excluded worker")
        cautions.append(f"{staying} of {out} would have stayed")
    return cautions


def _lacks(made: Prediction, wanted: Wanted) -> list[str]:
    lacks = []
    if not made.keeps_to(wanted.error):
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
    policy: Policy,
    triplets: int,
    like: Sequence[Campaign],
    people: int | None,
    hours: float | None = None,
) -> dict[str, Any]:
    """As a campaign keeps it."""
    known = known_of(like, timed=hours is not None)
    team = people or known.workers
    crowd = known.crowd(Controls.of(policy), per_day=known.per_day(policy, hours))
    made = predict(triplets, policy, crowd, people=team)
    low, high = _interval(known.judged(Controls.of(policy)), policy)
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
