"""A new campaign as a program asks for it."""

import json
import tempfile
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from rest_framework import serializers

from annotation.access.audit_log import by_api
from annotation.analytics.campaign.plan import LEAST_HOURS, MOST_HOURS, MOST_PEOPLE
from annotation.api.campaigns.policy import PolicyField
from annotation.models import Campaign
from annotation.operations.campaigns import Wanted, draw, request_creation, save_campaign
from annotation.pipeline.setup.create import SEEDS, policy_from
from core.rest.fields import Text, Whole
from core.text.money import AMOUNT, cents_of
from retrieval.api.corpora import CorpusName
from retrieval.corpus.pair_reader import MAX_ANSWER
from retrieval.models import Job
from retrieval.models.corpus import ALL
from retrieval.query_sets.labelled_dataset import MOST_CANDIDATES

MOST_QUERIES = 10_000
MOST_SAMPLED = 1_000_000
MOST_LIKE = 20
BOTH = "Say which queries: either `sample` or `queries`."


class Proposed(serializers.Serializer[dict[str, Any]]):
    question = Text(max_length=10_000)
    answer = Text(max_length=MAX_ANSWER)


class OwnQuery(serializers.Serializer[dict[str, Any]]):
    query = Text(max_length=10_000)
    id = Text(max_length=40, required=False, help_text="the file's name")
    candidates = serializers.ListField(
        child=Proposed(),
        min_length=1,
        max_length=MOST_CANDIDATES,
        required=False,
        help_text="of the task `answer`: the pairs whose answers people judge, best first",
    )


class NewCampaign(serializers.Serializer[dict[str, Any]]):
    name = serializers.RegexField(r"^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$")
    sample = Whole(
        min_value=1,
        max_value=MOST_SAMPLED,
        required=False,
        help_text="number of questions to hold out of the database at random; of the task "
        "`answer`, of pairs to judge",
    )
    queries = serializers.ListField(
        child=OwnQuery(),
        min_length=1,
        max_length=MOST_QUERIES,
        required=False,
        help_text="your own queries, instead of a sample",
    )
    corpus = CorpusName(
        default=ALL,
        help_text="queries, candidates and negative controls come from it alone; `all`: every pair",
    )
    seed = Whole(min_value=SEEDS[0], max_value=SEEDS[-1], default=0)
    policy = PolicyField(required=False)
    budget = serializers.RegexField(
        f"^{AMOUNT.pattern}$",
        required=False,
        help_text="the campaign's budget; without one, nothing can be spent",
    )
    like = serializers.ListField(
        child=Text(max_length=60),
        max_length=MOST_LIKE,
        required=False,
        help_text="campaigns of the same crowd after which it is planned: the campaign keeps what "
        "is predicted of it, beside which its figures put what comes",
    )
    people = Whole(
        min_value=1,
        max_value=MOST_PEOPLE,
        required=False,
        help_text="of that plan; by default, as many as worked in those campaigns",
    )
    hours = serializers.FloatField(
        min_value=LEAST_HOURS,
        max_value=MOST_HOURS,
        required=False,
        help_text="a day that each works, by that plan",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("sample" in attrs) == ("queries" in attrs):
            raise serializers.ValidationError(BOTH)
        return attrs


def create_at_once(wanted: dict[str, Any], user: User) -> Campaign:
    """Of the queries that came with the request; they are few enough."""
    asked = _wanted(wanted)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "queries.jsonl"
        path.write_text("".join(json.dumps(_line(row)) + "\n" for row in wanted["queries"]))
        made, _ = save_campaign(by_api(user), asked, draw(asked, path, called="`queries`"))
    return Campaign.objects.select_related("query_set", "account").get(pk=made.pk)


def _line(row: dict[str, Any]) -> dict[str, Any]:
    """As a file has it, where nothing is judged yet."""
    if "candidates" not in row:
        return row
    return {**row, "candidates": [{**one, "label": None} for one in row["candidates"]]}


def ask_for_sample(wanted: dict[str, Any], user: User) -> Job:
    """It reads the whole database: a worker does."""
    return request_creation(_wanted(wanted), by=by_api(user))


def _wanted(sent: dict[str, Any]) -> Wanted:
    return Wanted(
        sent["name"],
        (sent.get("policy") or policy_from({})).to_dict(),
        sent["seed"],
        sent.get("sample"),
        budget_cents=cents_of(sent["budget"]) if "budget" in sent else None,
        corpus=sent["corpus"],
        like=sent.get("like", ()),
        people=sent.get("people"),
        hours=sent.get("hours"),
    )
