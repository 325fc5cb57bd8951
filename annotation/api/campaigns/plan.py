"""How many votes to buy for a wanted error, budget, team and time."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.roles import SEE_VOTES
from annotation.analytics.campaign.plan import (
    LEAST_DAYS,
    LEAST_ERROR,
    LEAST_HOURS,
    MOST_ERROR,
    MOST_HOURS,
    MOST_PEOPLE,
    MOST_QUERIES,
    USUAL_ERROR,
    Wanted,
    plan_of,
)
from annotation.api.base.access import campaign_of
from core.rest.fields import Text
from core.rest.openapi import operation
from core.rest.parsing import query
from core.text.money import AMOUNT, cents_of

MOST_LIKE = 2000  # characters


class VotesQuery(serializers.Serializer[dict[str, Any]]):
    error = serializers.FloatField(
        default=USUAL_ERROR,
        min_value=LEAST_ERROR,
        max_value=MOST_ERROR,
        help_text="share of labels that may be wrong",
    )
    budget = serializers.RegexField(f"^{AMOUNT.pattern}$", required=False, help_text="maximum cost")
    people = serializers.IntegerField(
        min_value=1,
        max_value=MOST_PEOPLE,
        required=False,
        help_text="people who work; by default, as many as before",
    )
    days = serializers.FloatField(
        min_value=LEAST_DAYS, required=False, help_text="days that it may take"
    )
    hours = serializers.FloatField(
        min_value=LEAST_HOURS,
        max_value=MOST_HOURS,
        required=False,
        help_text="hours a day that each works, at the median active time of an assignment; by "
        "default, as many assignments a day as before",
    )
    queries = serializers.IntegerField(
        min_value=1,
        max_value=MOST_QUERIES,
        required=False,
        help_text="plan another campaign of so many queries; by default, this one",
    )
    like = Text(
        required=False,
        max_length=MOST_LIKE,
        help_text="names of campaigns of the same crowd where experts have judged a sample, with "
        "commas between; by default, this one",
    )


class OwnPolicyRow(serializers.Serializer[Any]):
    annotators = serializers.IntegerField()
    max_votes = serializers.IntegerField()
    positive_controls = serializers.IntegerField(help_text="of a HIT, which stays as long")
    negative_controls = serializers.IntegerField()
    error = serializers.FloatField(help_text="share of labels that will be wrong")
    unresolved = serializers.FloatField(help_text="share of triplets without a label")
    votes_per_triplet = serializers.FloatField()
    assignments = serializers.IntegerField()
    control_answers = serializers.IntegerField()
    cents = serializers.IntegerField(help_text="with work that is paid and does not count")
    days = serializers.FloatField()


class VotesChoiceRow(OwnPolicyRow):
    choice = serializers.CharField()
    error_interval = serializers.ListField(
        child=serializers.FloatField(), help_text="95%, as far as the experts' sample is small"
    )
    policy = serializers.DictField(help_text="what differs from the campaign's policy")
    lacks = serializers.ListField(
        child=serializers.CharField(), help_text="why it is not what is wanted; empty: it is"
    )
    cautions = serializers.ListField(
        child=serializers.CharField(), help_text="what fewer controls cost beside errors"
    )


class CameRow(serializers.Serializer[Any]):
    error = serializers.FloatField(allow_null=True)
    error_interval = serializers.ListField(child=serializers.FloatField(), allow_null=True)
    cents = serializers.IntegerField()


class VotesPlanRead(serializers.Serializer[dict[str, Any]]):
    triplets = serializers.IntegerField()
    people = serializers.IntegerField()
    triplets_judged_by_experts = serializers.IntegerField()
    share_of_positives = serializers.FloatField()
    wrong_votes_on_negatives = serializers.FloatField()
    wrong_votes_on_positives = serializers.FloatField()
    assignments_that_fail = serializers.FloatField()
    choices = VotesChoiceRow(many=True, help_text="the cheapest first")
    choice = VotesChoiceRow(allow_null=True, help_text="the cheapest that is wanted; null: none is")
    own_policy = OwnPolicyRow(help_text="what is predicted for the campaign's own policy")
    came = CameRow(help_text="what has come of the campaign so far")
    audit = serializers.IntegerField(
        help_text="labels that experts have to judge to see whether it came true"
    )
    seconds_an_assignment = serializers.FloatField(
        allow_null=True, help_text="the median active time; null: no `hours` are given"
    )


OWN = {
    "annotators": 2,
    "max_votes": 5,
    "positive_controls": 1,
    "negative_controls": 1,
    "error": 0.0969,
    "unresolved": 0.0,
    "votes_per_triplet": 2.191,
    "assignments": 1592,
    "control_answers": 3184,
    "cents": 30248,
    "days": 4.42,
}
CHOICE = {
    **OWN,
    "choice": "90% sure",
    "error_interval": [0.0812, 0.1107],
    "policy": {"annotators": 1, "max_votes": 7, "wanted_confidence": 0.9},
    "lacks": ["9.7% wrong labels, and 5.0% are wanted"],
    "cautions": [],
}
READ = {
    "triplets": 3000,
    "people": 20,
    "triplets_judged_by_experts": 400,
    "share_of_positives": 0.2,
    "wrong_votes_on_negatives": 0.1,
    "wrong_votes_on_positives": 0.3,
    "assignments_that_fail": 0.1,
    "choices": [CHOICE],
    "choice": None,
    "own_policy": OWN,
    "came": {"error": 0.031, "error_interval": [0.022, 0.043], "cents": 38_000},
    "audit": 465,
    "seconds_an_assignment": None,
}


class VotesPlan(APIView):
    @operation(
        "campaign_plan",
        "Plan how many votes to buy for a wanted error, budget, team, and time",
        tag="campaigns",
        description="By the rules of labels, followed vote by vote, for a crowd that errs as "
        "experts saw it err. Each choice has the cheapest controls that keep to the error, among "
        "those that the crowd has answered. It needs 20 positives and 20 negatives that experts "
        "judged blindly. "
        "Create a campaign with a choice's `policy` and the same `like`, and its figures say "
        "later what was planned and what came.",
        parameters=[VotesQuery],
        answers={200: VotesPlanRead},
        example=READ,
        refusals=[404, 422],
    )
    def get(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name, SEE_VOTES)
        asked = query(request, VotesQuery)
        names = asked["like"].split(",") if "like" in asked else [name]
        like = [campaign_of(request, one.strip(), SEE_VOTES) for one in names]
        wanted = Wanted(
            asked["error"],
            cents_of(asked["budget"]) if "budget" in asked else None,
            asked.get("people"),
            asked.get("days"),
            asked.get("hours"),
            asked.get("queries"),
        )
        return Response(VotesPlanRead(plan_of(campaign, wanted, like).to_dict()).data)
