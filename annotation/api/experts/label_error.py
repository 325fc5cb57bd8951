"""How often labels are wrong, by what experts judged at random, and what they have to judge yet."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.roles import SEE_VOTES
from annotation.analytics.quality.expert_agreement import AuditPlan, audit_plan
from annotation.api.base.access import campaign_of
from annotation.protocol.estimates.audit_plan import LEAST_WIDTH, MOST_WIDTH, USUAL_WIDTH
from annotation.protocol.estimates.certificate import LEAST_CERTIFIED, MOST_CERTIFIED
from core.rest.openapi import operation
from core.rest.parsing import query

TAG = "labels"


class PlanQuery(serializers.Serializer[dict[str, Any]]):
    width = serializers.FloatField(
        default=USUAL_WIDTH,
        min_value=LEAST_WIDTH,
        max_value=MOST_WIDTH,
        help_text="wanted width of the label error's 95% interval",
    )
    certify = serializers.FloatField(
        required=False,
        min_value=LEAST_CERTIFIED,
        max_value=MOST_CERTIFIED,
        help_text="share of wrong labels, at most, that a certificate is wanted for",
    )


class ShareRow(serializers.Serializer[Any]):
    value = serializers.FloatField()
    low = serializers.FloatField(help_text="of the 95% interval")
    high = serializers.FloatField()


class KindRow(serializers.Serializer[Any]):
    triplets = serializers.IntegerField(help_text="that experts judged")
    wrong = serializers.IntegerField(help_text="of these")
    share = ShareRow(help_text="of the labels that could be wrong in this way")
    of_all = ShareRow(help_text="of all labels")


class LabelErrorRow(serializers.Serializer[Any]):
    triplets = serializers.IntegerField(help_text="that experts judged")
    wrong = serializers.IntegerField(help_text="of these")
    share = serializers.FloatField(help_text="of all labels")
    low = serializers.FloatField(help_text="of the 95% interval")
    high = serializers.FloatField()
    false_positives = KindRow(allow_null=True, help_text="null: no positive was judged")
    false_negatives = KindRow(allow_null=True, help_text="null: no negative was judged")


class CertificateRow(serializers.Serializer[Any]):
    error = serializers.FloatField()
    holds = serializers.BooleanField()
    labels = serializers.IntegerField()
    rest = serializers.IntegerField(help_text="labels that experts have not decided")
    judged = serializers.IntegerField(help_text="of the rest, at random")
    wrong = serializers.IntegerField(help_text="of these")
    evidence = serializers.FloatField(help_text="it holds from 20 on")


class PlanRead(serializers.Serializer[AuditPlan]):
    labels = serializers.IntegerField()
    judged = serializers.IntegerField(help_text="by experts, at random")
    error = LabelErrorRow(allow_null=True, help_text="null: unknown, as none was judged")
    width = serializers.FloatField()
    more = serializers.IntegerField(help_text="labels to judge yet for an interval of this width")
    basis = serializers.CharField(help_text="what this is estimated from")
    certificate = CertificateRow(allow_null=True, help_text="null: none was asked for")
    ways = serializers.ListField(
        child=serializers.CharField(), help_text="what experts have to do for the certificate"
    )


SHARE = {"value": 0.04, "low": 0.021, "high": 0.072}
OF_ALL = {"value": 0.009, "low": 0.005, "high": 0.016}
KIND = {"triplets": 90, "wrong": 4, "share": SHARE, "of_all": OF_ALL}
READ = {
    "labels": 6000,
    "judged": 400,
    "error": {
        "triplets": 400,
        "wrong": 13,
        "share": 0.031,
        "low": 0.022,
        "high": 0.043,
        "false_positives": KIND,
        "false_negatives": KIND,
    },
    "width": 0.02,
    "more": 41,
    "basis": "the labels that experts have judged at random",
    "certificate": {
        "error": 0.05,
        "holds": False,
        "labels": 6000,
        "rest": 6000,
        "judged": 400,
        "wrong": 13,
        "evidence": 4.2,
    },
    "ways": ["experts judge 220 more at random"],
}


class LabelErrorRead(APIView):
    @operation(
        "label_error_read",
        "Show the label error by kind, and what experts have to judge yet",
        tag=TAG,
        description="From what experts judged without seeing votes, with 95% intervals; never from "
        "a model. The certificate says that at most a share of the labels is wrong.",
        parameters=[PlanQuery],
        answers={200: PlanRead},
        example=READ,
        refusals=[404],
    )
    def get(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name, SEE_VOTES)
        wanted = query(request, PlanQuery)
        plan = audit_plan(campaign, width=wanted["width"], share=wanted.get("certify"))
        return Response(PlanRead(plan).data)
