"""A campaign's steps that take long: candidates, HITs, publication, collection. Each is a job."""

from collections.abc import Callable
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.audit_log import Actor, by_api
from annotation.access.roles import CHANGE_CONTROLS, RUN, VIEW
from annotation.analytics.campaign.publication_preview import Publication, publication_of
from annotation.api.base.access import campaign_of, user_of
from annotation.api.base.idempotency import check_key, once
from annotation.api.base.jobs import ROW, JobRow, accepted
from annotation.jobs.requests import ask_for, ask_read_only, ask_to_reconcile
from annotation.models import Campaign
from annotation.simulation.options import MOST_HITS as MOST_DRY_RUN
from annotation.simulation.options import MOST_WORKERS, Options, read_options
from core.errors import UserError
from core.rest.fields import Flag, Share, Whole
from core.rest.openapi import key_header, operation
from core.rest.parsing import Nothing, body
from retrieval.models import Job
from retrieval.ranking.fusion import RETRIEVERS

TAG = "campaigns"
MOST_HITS = 1_000_000
USUAL = Options()

PREVIEW = {
    "agreed": False,
    "sentences": [
        "10 of the 600 HITs of faq go to the workers at http://127.0.0.1:8001.",
        "Their first round costs $3.80; $5.70 is reserved, an assignment for the tie of each "
        "HIT included.",
        "The budget has $120.00 left, which reaches all of them.",
    ],
}

Method = Callable[..., Response]


class RetrieveOptions(serializers.Serializer[dict[str, Any]]):
    retrievers = serializers.ListField(
        child=serializers.ChoiceField(choices=RETRIEVERS),
        min_length=1,
        max_length=len(RETRIEVERS),
        required=False,
        help_text="dense by default; of several the rankings are fused",
    )


class PublishOptions(serializers.Serializer[dict[str, Any]]):
    first = Whole(
        min_value=1,
        max_value=MOST_HITS,
        required=False,
        help_text="number of HITs in all, including those already requested; default: all",
    )
    live = Flag(default=False, help_text="true: spend real money, where the crowd is production")
    agreed = Flag(help_text="false: only the price is told; true: the job is asked for")


class PublishAnswer(serializers.Serializer[dict[str, Any]]):
    agreed = serializers.BooleanField()
    sentences = serializers.ListField(child=serializers.CharField())


class ReconcileOptions(serializers.Serializer[dict[str, Any]]):
    full = Flag(
        default=False, help_text="read every HIT's assignments, not only where the counts differ"
    )
    all_gone = Flag(
        default=False, help_text="believe the crowd where it lists no HIT of the campaign any more"
    )


class DryRunOptions(serializers.Serializer[dict[str, Any]]):
    """Shares from 0 to 1."""

    queries = Whole(
        min_value=1,
        max_value=MOST_DRY_RUN * 100,
        required=False,
        help_text="else as many as make some hundred HITs",
    )
    workers = Whole(min_value=1, max_value=MOST_WORKERS, default=USUAL.workers)
    seed = Whole(min_value=0, max_value=2**31, default=USUAL.seed)
    careless = Share(default=USUAL.careless, help_text="share of the people")
    spammers = Share(default=USUAL.spammers, help_text="they answer at random")
    accuracy = Share(default=USUAL.accuracy, help_text="triplets that careful people get right")
    control_accuracy = Share(default=USUAL.control_accuracy, help_text="the same of controls")
    careless_accuracy = Share(default=USUAL.careless_accuracy)
    careless_control_accuracy = Share(default=USUAL.careless_control_accuracy)


def _documented(
    kind: str, summary: str, sent: type[Any], example: Any, permission: str = RUN
) -> Callable[[Method], Method]:
    return operation(
        f"campaign_{kind}",
        summary,
        tag=TAG,
        description=f"A job, whose address is in `Location`. Takes the permission `{permission}`.",
        request=sent,
        sent=example,
        answers={202: JobRow},
        example={**ROW, "kind": kind},
        refusals=[404, 409, 422],
        parameters=[key_header(required=True)],
    )


def _requested(request: Request, ask: Callable[[Actor], Job]) -> Response:
    return once(request, lambda: accepted(ask(by_api(user_of(request)))))


class Retrieve(APIView):
    @_documented("retrieve", "Find the candidates of each query", RetrieveOptions, {})
    def post(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name, RUN)
        wanted = body(request, RetrieveOptions)
        return _requested(request, lambda by: ask_for(by, "retrieve", campaign, wanted))


class Pack(APIView):
    @_documented("pack", "Make the HITs: real triplets with controls among them", Nothing, {})
    def post(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name, RUN)
        body(request, Nothing)
        return _requested(request, lambda by: ask_for(by, "pack", campaign, {}))


class Collect(APIView):
    @_documented("collect", "Fetch what was handed in, review it, vote, now", Nothing, {})
    def post(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name, RUN)
        body(request, Nothing)
        return _requested(request, lambda by: ask_for(by, "collect", campaign, {}))


class Reconcile(APIView):
    @_documented(
        "reconcile",
        "Compare the campaign with the crowd's record, and mend what differs",
        ReconcileOptions,
        {"full": False, "all_gone": False},
    )
    def post(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name, RUN)
        wanted = body(request, ReconcileOptions)
        return _requested(request, lambda by: ask_to_reconcile(by, campaign, **wanted))


class Count(APIView):
    @_documented("snapshot", "Count a campaign's figures now", Nothing, {}, VIEW)
    def post(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name)
        body(request, Nothing)
        return _requested(request, lambda by: ask_read_only(by, "snapshot", campaign))


class FindControlCandidates(APIView):
    @_documented(
        "control_candidates",
        "Look for controls among what all agreed on",
        Nothing,
        {},
        CHANGE_CONTROLS,
    )
    def post(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name, CHANGE_CONTROLS)
        body(request, Nothing)
        return _requested(request, lambda by: ask_read_only(by, "control-candidates", campaign))


class DryRun(APIView):
    @_documented(
        "dry_run",
        "Play the campaign on the emulator, with simulated people: nothing is spent",
        DryRunOptions,
        {"workers": 16, "careless": 0.1, "spammers": 0.1, "accuracy": 0.88, "seed": 0},
    )
    def post(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name, RUN)
        wanted = body(request, DryRunOptions)

        def ask(by: Actor) -> Job:
            return ask_read_only(by, "dry-run", campaign, read_options(wanted).to_dict())

        return _requested(request, ask)


class Publish(APIView):
    @operation(
        "campaign_publish",
        "Send the HITs to the crowd, as far as the budget reaches",
        tag=TAG,
        description="First with `agreed: false`, which tells the price; with true it is a job, "
        f"whose address is in `Location`. Takes the permission `{RUN}`.",
        request=PublishOptions,
        sent={"first": 10, "live": False, "agreed": False},
        answers={200: PublishAnswer, 202: JobRow},
        examples={200: PREVIEW, 202: ROW},
        refusals=[404, 409, 422],
        parameters=[key_header(required=False)],
    )
    def post(self, request: Request, name: str) -> Response:
        campaign = campaign_of(request, name, RUN)
        wanted = body(request, PublishOptions)
        if wanted["agreed"]:
            return _requested(request, lambda by: _publish(by, campaign, wanted))
        check_key(request)
        sentences = _sentences(publication_of(campaign, wanted.get("first")))
        return Response({"agreed": False, "sentences": sentences})


def _publish(by: Actor, campaign: Campaign, wanted: dict[str, Any]) -> Job:
    """UserError where it is production, and nobody has said that real money is meant."""
    found = publication_of(campaign, wanted.get("first"))
    if found.crowd.is_production and not wanted["live"]:
        raise UserError(
            f"{found.crowd.endpoint} is {found.crowd.name}, where work costs real money: send "
            "`live` as true if that is meant."
        )
    return ask_for(by, "publish", campaign, found.arguments(), details=found.details())


def _sentences(found: Publication) -> list[str]:
    return [*found.sentences(), *filter(None, [found.money])]
