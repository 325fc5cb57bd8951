"""`manage.py campaign`: from the queries to the labels, one step at a time."""

from contextlib import ExitStack
from dataclasses import asdict
from functools import partial

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import transaction
from django.urls import reverse

from annotation.access.audit_log import by_command, logged, record
from annotation.analytics.campaign.progress import progress
from annotation.analytics.campaign.snapshots import take_after_a_pass
from annotation.analytics.campaign.status import standing
from annotation.crowd.factory import open_crowd
from annotation.crowd.port import Crowd
from annotation.management.campaign.base import Options, Result, Step, calls_made
from annotation.models import Campaign
from annotation.pipeline.advance import advance
from annotation.pipeline.outbox.claims import waiting
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing.pack import pack_campaign, triplets_to_judge
from annotation.pipeline.publishing.publish import prepare_publication, write_messages
from annotation.protocol.estimates.cost import quote
from annotation.protocol.packing.pack import hits_needed
from core.command import QuorumCommand
from core.errors import UserError
from core.progress import Progress, no_progress
from retrieval.ranking.fusion import BM25
from retrieval.search.retrieve import retrieve


def _retrieve(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    if campaign.query_set.brings_candidates:
        raise UserError(f"Campaign {campaign} came with its candidates: none are retrieved.")
    total = campaign.query_set.queries.count()
    names = options["retrievers"] or campaign.query_set.retrievers

    def note(found: int) -> None:
        details = {"retrievers": list(names), "queries": total, "candidates": found}
        record(by_command(), "retrieve", campaign=campaign, details=details)

    with ExitStack() as bars:
        show = partial(_bar, command, bars)
        found = retrieve(
            campaign.query_set,
            k=campaign.policy.candidates_per_query,
            retrievers=names,
            device=options["device"],
            encoding=show(total, "encoding", "query"),
            reading=show(None, "reading for BM25", " pairs") if BM25 in names else no_progress,
            progress=show(total, "retrieving", "query"),
            conclude=note,
        )
    return {"campaign": campaign.name, "queries": total, "candidates": found}


def _bar(
    command: QuorumCommand, bars: ExitStack, total: int | None, label: str, unit: str
) -> Progress:
    """Shown until the stack of bars is left."""
    return bars.enter_context(command.progress(total, label, unit)).update


def _quote(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    triplets = triplets_to_judge(campaign)
    costs = quote(triplets, campaign.policy)
    left_out = "replacements of rejected and discarded work"
    return {
        "campaign": campaign.name,
        "triplets": triplets,
        **asdict(costs),
        "not_counted": left_out,
    }


def _pack(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    hits = hits_needed(triplets_to_judge(campaign), campaign.policy)
    with command.progress(hits, "packing", "HIT") as bar, transaction.atomic():
        packed = pack_campaign(campaign, progress=bar.update)
        if not packed.already:
            record(by_command(), "pack", campaign=campaign, details=asdict(packed))
    return {"campaign": campaign.name, **asdict(packed)}


def _publish(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    crowd = open_crowd(campaign.policy.crowd, live=options["live"])
    prepare_publication(campaign, crowd, most=options["first"])
    with logged(by_command(), "publish", campaign) as entry:
        written = write_messages(campaign, most=options["first"])
        entry.details |= asdict(written)
    with command.progress(waiting(campaign), "publishing", "HIT") as bar:
        delivery = deliver(campaign, crowd, progress=calls_made(campaign, bar))
    if delivery.stopped_by:
        raise UserError(
            f"{delivery.sent} calls were made, {waiting(campaign)} wait for the next "
            f"`manage.py campaign publish {campaign}`: {delivery.stopped_by}"
        )
    return {
        "campaign": campaign.name,
        "new_hits": written.new,
        "left_out": written.left_out,
        "held_back": written.held_back,
        **asdict(delivery),
        "waiting": waiting(campaign),  # what another process has claimed
        "standing": standing(campaign),
        **_where(crowd),
    }


def _where(crowd: Crowd) -> dict[str, object]:
    """MTurk's workers find HITs by themselves, people of one's own are told."""
    return {"work_at": settings.PUBLIC_URL + reverse("work")} if crowd.site.is_local else {}


def _collect(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    if campaign.state == Campaign.State.CANCELLED and not campaign.endpoint:
        raise UserError(
            f"Campaign {campaign} was cancelled before it was published: there is nothing to "
            "collect."
        )
    crowd = open_crowd(campaign.policy.crowd, live=options["live"])
    # Of many transactions: that it was begun is written first, whatever comes of it.
    record(by_command(), "collect", campaign=campaign)
    with (
        command.progress(None, "collecting", " HITs") as bar,
        command.progress(None, "approving, rejecting, extending", " calls") as calls,
    ):
        found = advance(campaign, crowd, progress=bar.update, sending=calls.update)
    take_after_a_pass(campaign)
    if found.stopped_by:
        raise UserError(
            f"{found.new} submissions came in and {found.sent} calls were made, "
            f"{found.waiting} wait for the next `manage.py campaign collect {campaign}`: "
            f"{found.stopped_by}"
        )
    return {"campaign": campaign.name, **asdict(found)}


def _status(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    return progress(campaign)


def _live_argument(parser: CommandParser) -> None:
    parser.add_argument(
        "--live", action="store_true", help="really spend money on production MTurk"
    )


def _publish_arguments(parser: CommandParser) -> None:
    _live_argument(parser)
    parser.add_argument(
        "--first",
        type=int,
        metavar="N",
        help="so many HITs in all for now: the rest waits for another `publish`",
    )


def _retrieve_arguments(parser: CommandParser) -> None:
    parser.add_argument(
        "--retrievers",
        type=lambda text: text.split(","),
        metavar="NAMES",
        help="dense (default), bm25, or both with a comma: their rankings are fused",
    )
    parser.add_argument("--device", default=settings.ENCODER_DEVICE, help="auto, cpu or cuda")


STEPS = {
    "retrieve": Step("find the top candidates of each query", _retrieve, _retrieve_arguments),
    "quote": Step("say what the campaign will cost, before anything is spent", _quote),
    "pack": Step("make the HITs: real triplets with a positive and a negative control each", _pack),
    "publish": Step(
        "send the HITs to the crowd as far as the budget reaches; run again, it sends only what "
        "is missing",
        _publish,
        _publish_arguments,
    ),
    "collect": Step(
        "fetch what was handed in, review it, vote, break ties, exclude; once",
        _collect,
        _live_argument,
    ),
    "status": Step("say where the campaign stands, what it has cost and what is stuck", _status),
}
