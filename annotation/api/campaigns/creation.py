"""A new campaign as a program asks for it."""

import json
import tempfile
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from rest_framework import serializers

from annotation.access.audit_log import by_api
from annotation.api.campaigns.policy import PolicyField
from annotation.models import Campaign
from annotation.operations.campaigns import Wanted, request_creation, save_campaign
from annotation.pipeline.ledger.dollars import AMOUNT, cents_of
from annotation.pipeline.setup.create import SEEDS, choose_queries
from annotation.protocol.policy.policy import Policy
from core.errors import UserError
from core.rest.fields import Text, Whole
from retrieval.api.corpora import CorpusName
from retrieval.corpus.corpora import corpus_named
from retrieval.models import Job
from retrieval.models.corpus import ALL

MOST_QUERIES = 10_000
MOST_SAMPLED = 1_000_000
BOTH = "Say which queries: either `sample` or `queries`."


class OwnQuery(serializers.Serializer[dict[str, Any]]):
    query = Text(max_length=10_000)
    id = Text(max_length=40, required=False, help_text="the file's name")


class NewCampaign(serializers.Serializer[dict[str, Any]]):
    name = serializers.RegexField(r"^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$")
    sample = Whole(
        min_value=1,
        max_value=MOST_SAMPLED,
        required=False,
        help_text="number of questions to hold out of the database at random",
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
    dollars = serializers.RegexField(
        f"^{AMOUNT.pattern}$",
        required=False,
        help_text="the campaign's budget; without one, nothing can be spent",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("sample" in attrs) == ("queries" in attrs):
            raise serializers.ValidationError(BOTH)
        return attrs


def create_at_once(wanted: dict[str, Any], user: User) -> Campaign:
    """Of the queries that came with the request; they are few enough."""
    by = by_api(user)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "queries.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in wanted["queries"]))
        try:
            drawn = choose_queries(
                wanted["name"],
                seed=wanted["seed"],
                queries=path,
                corpus=corpus_named(wanted["corpus"]),
            )
            made, _ = save_campaign(
                by,
                wanted["name"],
                drawn,
                policy=_policy(wanted),
                seed=wanted["seed"],
                budget_cents=_cents(wanted),
            )
        except UserError as error:
            raise UserError(str(error).replace(str(path), "`queries`")) from error
    return Campaign.objects.select_related("query_set", "account").get(pk=made.pk)


def ask_for_sample(wanted: dict[str, Any], user: User) -> Job:
    """It reads the whole database: a worker does."""
    asked = Wanted(
        wanted["name"],
        _policy(wanted).to_dict(),
        wanted["seed"],
        wanted["sample"],
        budget_cents=_cents(wanted),
        corpus=wanted["corpus"],
    )
    return request_creation(asked, by=by_api(user))


def _policy(wanted: dict[str, Any]) -> Policy:
    return wanted.get("policy") or Policy()


def _cents(wanted: dict[str, Any]) -> int | None:
    return cents_of(wanted["dollars"]) if "dollars" in wanted else None
