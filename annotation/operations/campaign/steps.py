"""The long steps of a campaign, from its candidates to its votes, and what is counted of it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.db import transaction
from django.urls import reverse

from annotation.access.roles import CHANGE_CONTROLS, RUN, VIEW
from annotation.analytics.campaign.publication_preview import publication_of
from annotation.analytics.campaign.snapshots import take
from annotation.analytics.campaign.status import campaign_status
from annotation.analytics.quality.campaign_leak import leak_figures, measure_leak
from annotation.crowd.factory import check_live, open_crowd
from annotation.crowd.port import Crowd
from annotation.models import Campaign
from annotation.operations.operation import (
    Argument,
    LongOperation,
    Options,
    Order,
    Result,
    Run,
    Unfinished,
)
from annotation.pipeline.advance import advance
from annotation.pipeline.controls.candidates import find_candidates
from annotation.pipeline.controls.drafts import draft_controls
from annotation.pipeline.outbox.claims import waiting
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing.pack import pack_hits, triplets_to_judge
from annotation.pipeline.publishing.publish import prepare_publication, write_messages
from annotation.pipeline.reconcile.report import Reconciled
from annotation.pipeline.reconcile.run import check_published, reconcile
from annotation.protocol.packing.pack import hits_needed
from core.errors import UserError
from retrieval.ranking.fusion import RETRIEVERS
from retrieval.search.retrieve import retrieve

MOST_HITS = 1_000_000
DEVICE = Argument("device", "device", "Device", default=settings.ENCODER_DEVICE)
LIVE = Argument("live", "flag", "Continue where the crowd takes real money", default=False)


def _retrieve(campaign: Campaign, options: Options, run: Run) -> Result:
    if campaign.query_set.brings_candidates:
        raise UserError(f"Campaign {campaign} came with its candidates: none are retrieved.")
    total = campaign.query_set.queries.count()
    names = options["retrievers"] or campaign.query_set.retrievers

    def details() -> Result:
        retrieval = campaign.query_set.retrieval
        number = retrieval.get("pairs_not_indexed", 0)
        measured = {"recall": retrieval["recall"]["value"]} if "recall" in retrieval else {}
        warning = campaign.query_set.recall_warning
        return {"pairs_not_indexed": number} | measured | ({"warning": warning} if warning else {})

    retrieved = retrieve(
        campaign.query_set,
        k=campaign.policy.candidates_per_query,
        retrievers=names,
        device=options["device"],
        fresh=options["fresh"],
        encoding=run.stage("encoding the queries", total),
        reading=run.stage("reading the pairs' words", None),
        progress=run.stage("looking for candidates", total),
        conclude=lambda retrieved: run.log(
            {"retrievers": list(names), "queries": total, "candidates": retrieved} | details()
        ),
    )
    return {"queries": total, "candidates": retrieved} | details()


def _pack(campaign: Campaign, options: Options, run: Run) -> Result:
    hits = hits_needed(triplets_to_judge(campaign), campaign.policy)
    count = run.stage("packing HITs", hits)
    with transaction.atomic():
        packed = pack_hits(campaign, again=options["again"], progress=count)
        if not packed.already:
            run.log(asdict(packed))
    if not packed.already:
        measure_leak(campaign)
    return asdict(packed) | leak_figures(campaign)


def _publication(campaign: Campaign, options: Options) -> list[str]:
    publication = publication_of(campaign, options["first"])
    return [*publication.sentences(), *filter(None, [publication.money])]


def _order_publication(campaign: Campaign, options: Options) -> Order:
    """UserError where it is production, and nobody has said that real money is meant."""
    publication = publication_of(campaign, options["first"])
    check_live(publication.crowd, live=options["live"])
    return Order(publication.arguments(), publication.details())


def _publish(campaign: Campaign, options: Options, run: Run) -> Result:
    """The price was confirmed before and, on production, that real money is meant."""
    crowd = open_crowd(campaign.policy.crowd, live=options["live"])
    _check_confirmed(crowd, options.get("endpoint", crowd.site.endpoint))
    prepare_publication(campaign, crowd, most=options["first"])
    with transaction.atomic():
        written = write_messages(campaign, most=options["first"])
        run.log(asdict(written))
    count = run.stage("publishing HITs", waiting(campaign))
    sent = deliver(campaign, crowd, progress=count)
    return {**asdict(written), **asdict(sent), "waiting": waiting(campaign)}


def _check_confirmed(crowd: Crowd, confirmed: str) -> None:
    """The worker's settings may name another crowd than those of the site that asked."""
    if confirmed != crowd.site.endpoint:
        raise UserError(
            f"It was confirmed for {confirmed}, but this worker's crowd is {crowd.site.endpoint}: "
            f"give the site and the worker the same {crowd.site.setting}, then publish again."
        )


def _published(campaign: Campaign, result: Result) -> Result:
    """Workers elsewhere find HITs by themselves, people of one's own read where they are."""
    new = {"new_hits": result["new"]}
    written = {name: value for name, value in result.items() if name != "new"}
    crowd, where = campaign.policy.crowd_traits, {}
    if crowd.by_link:
        where = {"next": f"quorum campaign open-panel {campaign}"}
    elif crowd.is_team:
        where = {"work_at": settings.PUBLIC_URL + reverse("work")}
    return {**new, **written, "status": campaign_status(campaign), **where}


def _collect(campaign: Campaign, options: Options, run: Run) -> Result:
    if campaign.state == Campaign.State.CANCELLED and not campaign.endpoint:
        raise UserError(
            f"Campaign {campaign} was cancelled before it was published: there is nothing to "
            "collect."
        )
    crowd = open_crowd(campaign.policy.crowd, live=options["live"])
    run.log({})  # of many transactions: that it was begun is written first, whatever comes of it
    collecting, sending = run.stage("collecting HITs", None), run.stage("telling the crowd", None)
    return asdict(advance(campaign, crowd, progress=collecting, sending=sending))


def _order_reconciliation(campaign: Campaign, options: Options) -> Order:
    check_published(campaign)
    return Order(options)


def compare(campaign: Campaign, crowd: Crowd, how: Mapping[str, Any], run: Run) -> Reconciled:
    run.log(how)  # of many transactions, as above
    count = run.stage(f"comparing HITs of {campaign}", None)
    return reconcile(campaign, crowd, **how, progress=count)


def _reconcile(campaign: Campaign, options: Options, run: Run) -> Result:
    how = {name: options[name] for name in ("full", "all_gone")}
    # Confirmed when it was published.
    reconciled = compare(campaign, open_crowd(campaign.policy.crowd, live=True), how, run)
    result = {
        "hits_compared": reconciled.hits,
        "repairs": reconciled.repairs,
        "mended": reconciled.done,
        "left_to_you": reconciled.manual,
    }
    if reconciled.stopped_by:
        raise Unfinished(ended_early(campaign, reconciled), result)
    return result


def ended_early(campaign: Campaign, reconciled: Reconciled) -> str:
    return f"The comparison of {campaign} ended early, run it again: {reconciled.stopped_by}"


def _snapshot(campaign: Campaign, options: Options, run: Run) -> Result:
    return {"seconds": take(campaign).figures["seconds"]}


def _find_candidates(campaign: Campaign, options: Options, run: Run) -> Result:
    return asdict(find_candidates(campaign, progress=run.stage("reading labelled triplets", None)))


def _draft_controls(campaign: Campaign, options: Options, run: Run) -> Result:
    count = run.stage("looking below the candidates", None)
    return asdict(draft_controls(campaign, device=options["device"], progress=count))


OPERATIONS = (
    LongOperation(
        "retrieve",
        "find the top candidates of each query",
        RUN,
        _retrieve,
        (
            Argument(
                "retrievers",
                "choices",
                "Retrievers",
                "dense by default; the rankings of several are fused",
                choices=RETRIEVERS,
                optional=True,
            ),
            Argument(
                "fresh", "flag", "Refuse an index that lacks pairs of the corpus", default=False
            ),
        ),
        (DEVICE,),
    ),
    LongOperation(
        "pack",
        "pack triplets into HITs, each with a positive and a negative control, and measure whether "
        "the controls can be told apart",
        RUN,
        _pack,
        (
            Argument(
                "again",
                "flag",
                "Pack again, with the controls that there are now; before publication only",
                default=False,
            ),
        ),
    ),
    LongOperation(
        "publish",
        "send the HITs to the crowd, as far as the budget allows. Run it again to send only what "
        "is missing",
        RUN,
        _publish,
        (
            Argument(
                "first",
                "count",
                "HITs to publish",
                "those published before included; all by default",
                maximum=MOST_HITS,
                optional=True,
            ),
            LIVE,
        ),
        spends=True,
        preview=_publication,
        example=(
            "600 HITs of faq go to the workers at http://127.0.0.1:8001.",
            "Their first round costs $228.00; $342.00 is reserved, an assignment for the tie of "
            "each HIT included.",
            "The pairs come from the corpus coffee: faq (CC0-1.0); forum (no licence stated).",
        ),
        order=_order_publication,
        report=_published,
        stopped="{sent} calls were made, {waiting} wait for the next `quorum campaign publish "
        "{campaign}`: {stopped_by}",
    ),
    LongOperation(
        "collect",
        "fetch submissions once, then review them, count votes, break ties and exclude workers",
        RUN,
        _collect,
        command_arguments=(LIVE,),
        stopped="{new} submissions came in and {sent} calls were made, {waiting} wait for the next "
        "`quorum campaign collect {campaign}`: {stopped_by}",
    ),
    LongOperation(
        "reconcile",
        "compare the campaign with the crowd's own record, and repair differences",
        RUN,
        _reconcile,
        (
            Argument(
                "full",
                "flag",
                "Compare the assignments of every HIT, not only where the counts differ",
                default=False,
            ),
            Argument(
                "all_gone",
                "flag",
                "Accept that the crowd knows none of the campaign's HITs any more",
                default=False,
            ),
        ),
        order=_order_reconciliation,
        has_command=False,  # `quorum campaign reconcile` compares several
    ),
    LongOperation("snapshot", "count the campaign's figures now", VIEW, _snapshot, logged=False),
    LongOperation(
        "control-candidates",
        "find control candidates among the triplets that all annotators agreed on",
        CHANGE_CONTROLS,
        _find_candidates,
        logged=False,
    ),
    LongOperation(
        "draft-controls",
        "draft controls from the campaign's own queries and corpus, which a person confirms one "
        "by one",
        CHANGE_CONTROLS,
        _draft_controls,
        command_arguments=(DEVICE,),
        logged=False,  # what a person confirms is
    ),
)
