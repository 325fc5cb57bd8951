"""Campaigns as the API shows them."""

from collections.abc import Mapping, Sequence
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotation.analytics.campaign.completion import STATES, state_of
from annotation.analytics.campaign.corpus import corpus_of
from annotation.analytics.quality.campaign_leak import leak_warning, meetings_warning
from annotation.models import Account, Campaign
from annotation.operations.campaigns import warnings_of
from annotation.pipeline.publishing.takers import too_small_a_team
from annotation.protocol.policy.crowds import PAPER_CROWD
from retrieval.models.corpus import name_of


class Money(serializers.Serializer[Account]):
    """Of a campaign, in cents of its currency."""

    currency = serializers.CharField(source="campaign.policy.currency")
    budget_cents = serializers.IntegerField()
    reserved_cents = serializers.IntegerField()
    spent_cents = serializers.IntegerField()
    available_cents = serializers.IntegerField()


class CampaignRow(serializers.Serializer[Campaign]):
    name = serializers.CharField()
    state = serializers.SerializerMethodField(
        help_text="`complete` where each triplet is decided and nothing is under way"
    )
    crowd = serializers.CharField(source="policy.crowd")
    published = serializers.SerializerMethodField(
        help_text="whether the campaign has been published"
    )
    seed = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    money = Money(source="account")

    @extend_schema_field(serializers.ChoiceField(choices=STATES))
    def get_state(self, campaign: Campaign) -> str:
        return state_of(campaign).value

    def get_published(self, campaign: Campaign) -> bool:
        return bool(campaign.endpoint)


class CampaignRead(CampaignRow):
    origin = serializers.CharField(source="query_set.origin", help_text="number of queries")
    corpus = serializers.SerializerMethodField(
        help_text="the corpus that it samples, retrieves, and draws negative controls from"
    )
    licences = serializers.SerializerMethodField(
        help_text="the corpus's sources, each with licences of its pairs; empty: it states none"
    )
    retrieved = serializers.SerializerMethodField(
        help_text="whether the campaign's candidates have been retrieved"
    )
    warnings = serializers.SerializerMethodField(
        help_text="what will block or spoil the campaign, such as ties in a team of two, or "
        "controls that can be told apart"
    )
    control_leak = serializers.FloatField(
        allow_null=True,
        help_text="AUC of somebody who tells controls apart without reading, 0.5 is chance; null: "
        "not packed, or too few HITs",
    )
    figures = serializers.SerializerMethodField(
        help_text="the latest counts, as of `at`; null: not counted yet"
    )

    def get_corpus(self, campaign: Campaign) -> str:
        return name_of(campaign.query_set.corpus)

    @extend_schema_field(
        serializers.DictField(child=serializers.ListField(child=serializers.CharField()))
    )
    def get_licences(self, campaign: Campaign) -> Mapping[str, Sequence[str]]:
        return corpus_of(campaign).licences

    def get_retrieved(self, campaign: Campaign) -> bool:
        return campaign.query_set.retrieved_with_id is not None

    def get_warnings(self, campaign: Campaign) -> list[str]:
        warnings = (
            too_small_a_team(campaign.policy, campaign),
            leak_warning(campaign),
            meetings_warning(campaign),
        )
        return [warning for warning in warnings if warning]

    def get_figures(self, campaign: Campaign) -> dict[str, Any] | None:
        newest = campaign.snapshots.order_by("-at").first()
        return None if newest is None else {"at": newest.at, **newest.figures}


class CampaignCreated(CampaignRead):
    warnings = serializers.SerializerMethodField(
        help_text="what will stand still or be empty as things are: ties in a team of two, a split"
    )

    def get_warnings(self, campaign: Campaign) -> list[str]:
        return warnings_of(campaign.query_set.whole.count(), campaign.policy, campaign)


ROW = {
    "name": "faq",
    "state": "active",
    "crowd": PAPER_CROWD.kind,
    "published": True,
    "seed": 7,
    "created_at": "2026-11-22T10:00:00Z",
    "money": {
        "budget_cents": 120_000,
        "reserved_cents": 5_700,
        "spent_cents": 38_000,
        "available_cents": 76_300,
    },
}
READ = {
    **ROW,
    "origin": "sample",
    "corpus": "coffee",
    "licences": {"faq": ["CC0-1.0"], "forum": [""]},
    "retrieved": True,
    "warnings": [],
    "control_leak": 0.58,
    "figures": {"at": "2026-11-22T11:30:00Z", "triplets": 450, "labelled": 312},
}
