"""Campaigns: the list, a new one, how one stands, its policy and what it will cost."""

from dataclasses import asdict
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.roles import CREATE, SEE_VOTES, visible_campaigns
from annotation.analytics.campaign.completion import with_completion
from annotation.api.base.access import campaign_of, require, user_of
from annotation.api.base.idempotency import Done, once
from annotation.api.base.jobs import ROW as JOB
from annotation.api.base.jobs import JobRow, address_of_job
from annotation.api.campaigns.creation import NewCampaign, ask_for_sample, create_at_once
from annotation.api.campaigns.policy import PolicyField
from annotation.api.campaigns.serializers import (
    READ,
    ROW,
    CampaignCreated,
    CampaignRead,
    CampaignRow,
)
from annotation.jobs.tasks import run_job, soon
from annotation.operations.campaigns import warnings_of
from annotation.pipeline.publishing.pack import triplets_to_judge
from annotation.protocol.estimates.cost import PAPER_AGREEMENT, estimate_cost
from annotation.protocol.policy.policy import Policy
from core.rest.openapi import key_header, operation
from core.rest.pagination import KeyPages, page
from core.rest.parsing import body, query
from retrieval.models import Job

TAG = "campaigns"


class CreationJob(JobRow):
    warnings = serializers.SerializerMethodField(help_text="as of the campaign that it makes")

    def get_warnings(self, job: Job) -> list[str]:
        policy = Policy.from_dict(job.arguments["policy"])
        return warnings_of(job.arguments["sample"], policy)


class Campaigns(APIView):
    pagination_class = KeyPages

    @operation(
        "campaign_list",
        "List the campaigns that you have a role in",
        tag=TAG,
        answers={200: CampaignRow(many=True)},
        example=ROW,
    )
    def get(self, request: Request) -> Response:
        seen = with_completion(visible_campaigns(request.user).select_related("account"))
        return page(self, seen, CampaignRow)

    @operation(
        "campaign_create",
        "Create a campaign that you own",
        tag=TAG,
        description="With your own `queries`, Quorum creates the campaign at once (201). With a "
        "`sample`, it reads the whole database in a job (202), whose address is in `Location`. "
        "Nothing is spent. Retrieve candidates, pack, and publish next. Requires the permission "
        "`annotation.add_campaign`.",
        request=NewCampaign,
        sent={"name": "faq", "sample": 100, "policy": {"hit_size": 7}, "budget": "120.00"},
        answers={201: CampaignCreated, 202: CreationJob},
        examples={201: READ, 202: {**JOB, "kind": "create", "warnings": []}},
        refusals=[404, 409, 422],
        parameters=[key_header(required=True)],
    )
    def post(self, request: Request) -> Response:
        require(request, CREATE)
        wanted = body(request, NewCampaign)
        for one in wanted.get("like", ()):
            campaign_of(request, one, SEE_VOTES)

        def execute() -> Done:
            if "sample" in wanted:
                job = ask_for_sample(wanted, user_of(request))
                soon(run_job, job.pk)
                return Done(202, CreationJob(job).data, address_of_job(job))
            made = create_at_once(wanted, user_of(request))
            return Done(201, CampaignCreated(made).data, f"/api/v1/campaigns/{made}")

        return once(request, execute)


class OneCampaign(APIView):
    @operation(
        "campaign_read",
        "Show a campaign's status",
        tag=TAG,
        description="Figures are counted after each pass, not for each request.",
        answers={200: CampaignRead},
        example=READ,
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        return Response(CampaignRead(campaign_of(request, name)).data)


class PolicyAnswer(serializers.Serializer[dict[str, Any]]):
    digest = serializers.CharField(help_text="sha256 of the policy's canonical JSON")
    policy = PolicyField()


class CampaignPolicy(APIView):
    @operation(
        "campaign_policy",
        "Show a campaign's policy: every number of its protocol",
        tag=TAG,
        answers={200: PolicyAnswer},
        example={"digest": "0" * 64, "policy": {"candidates_per_query": 30, "hit_size": 7}},
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        policy = campaign_of(request, name).policy
        return Response(PolicyAnswer({"digest": policy.digest(), "policy": policy}).data)


class Expected(serializers.Serializer[dict[str, Any]]):
    agreement = serializers.FloatField(
        min_value=0,
        max_value=1,
        default=PAPER_AGREEMENT,
        help_text="share of triplets on which two annotators agree; the paper's by default",
    )


class Mode(serializers.Serializer[dict[str, Any]]):
    assignments_per_hit = serializers.FloatField()
    assignments = serializers.IntegerField()
    cents = serializers.IntegerField()


class CostEstimateAnswer(serializers.Serializer[dict[str, Any]]):
    triplets = serializers.IntegerField()
    hits = serializers.IntegerField()
    assignments_min = serializers.IntegerField(help_text="in the first round alone")
    extend = Mode(help_text="if one more assignment of the same HIT breaks a tie")
    repack = Mode(help_text="if only tied triplets are judged again")
    cents_min = serializers.IntegerField()
    cents_max = serializers.IntegerField(help_text="cost if every HIT needs all votes")


class CampaignCostEstimate(APIView):
    @operation(
        "campaign_cost_estimate",
        "Estimate a campaign's cost before you spend anything",
        tag=TAG,
        description="Replacements of rejected and discarded work are not counted.",
        parameters=[Expected],
        answers={200: CostEstimateAnswer},
        example={
            "triplets": 3000,
            "hits": 600,
            "assignments_min": 1200,
            "extend": {"assignments_per_hit": 2.71, "assignments": 1627, "cents": 30913},
            "repack": {"assignments_per_hit": 2.22, "assignments": 1332, "cents": 25308},
            "cents_min": 22800,
            "cents_max": 57000,
        },
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name)
        agreement = query(request, Expected)["agreement"]
        triplets = triplets_to_judge(campaign)
        costs = asdict(estimate_cost(triplets, campaign.policy, agreement))
        return Response(CostEstimateAnswer({"triplets": triplets, **costs}).data)
