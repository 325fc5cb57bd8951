"""`quorum campaign`: from the queries to the labels, one step at a time."""

from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from django.conf import settings
from django.db import transaction
from django.urls import reverse

from annotation.access.audit_log import by_command, logged, record
from annotation.analytics.campaign.progress import progress as progress_of
from annotation.analytics.campaign.snapshots import take_after_a_pass
from annotation.analytics.campaign.status import campaign_status
from annotation.commands.campaign_noun import (
    Budget,
    Live,
    Seed,
    app,
    campaign_verb,
    in_words,
    worded,
)
from annotation.commands.campaign_operations import messages_sent
from annotation.crowd.factory import open_crowd
from annotation.crowd.port import Crowd
from annotation.models import Campaign
from annotation.operations.campaigns import save_campaign
from annotation.operations.instructions import save_instructions
from annotation.pipeline.advance import advance
from annotation.pipeline.ledger.accounts import account_of, set_budget
from annotation.pipeline.ledger.dollars import cents_of, no_money
from annotation.pipeline.outbox.claims import waiting
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing.pack import pack_hits, triplets_to_judge
from annotation.pipeline.publishing.publish import prepare_publication, write_messages
from annotation.pipeline.setup.create import choose_queries, get_campaign, read_policy
from annotation.pipeline.setup.import_dataset import import_dataset
from annotation.pipeline.setup.instructions import read_instructions
from annotation.protocol.estimates.cost import estimate_cost
from annotation.protocol.packing.pack import hits_needed
from annotation.protocol.policy.crowds import CROWDS, PAPER_CROWD, CrowdKind
from core.command import Device, Result, choice, one_of, progress
from core.errors import UserError
from core.output import Facts, Rendered, Rows
from core.progress import Progress, no_progress
from retrieval.ranking.fusion import BM25
from retrieval.search.retrieve import retrieve

IMPORT = "import"
CHOICE = ", or ".join(each.title for each in CROWDS.values())
ChosenCrowd = Annotated[
    CrowdKind | None,
    choice("--crowd", CROWDS, f"Who judges: {CHOICE} (default: {PAPER_CROWD.title})."),
]
PolicyFile = Annotated[
    Path | None,
    typer.Option(
        "--policy", metavar="FILE", help="JSON file with what differs from the paper's policy."
    ),
]


def _table(result: Result) -> Rendered:
    if not result["campaigns"]:
        return "There are no campaigns yet: create one with `quorum campaign create`."
    head = ("campaign", "status", "queries", "labelled", "triplets", "spent")
    return Rows(head, map(_row, result["campaigns"]))


def _row(one: Result) -> tuple[str, ...]:
    money = worded({"spent_cents": one["spent_cents"]})["spent"]
    counts = (f"{one[name]:,}" for name in ("queries", "labelled", "triplets"))
    return (one["campaign"], one["status"], *counts, money)


@app.verb("list", render=_table, panel="Steps")
def list_campaigns() -> Result:
    """List the campaigns, the newest first."""
    return {"campaigns": [_summary(one) for one in Campaign.objects.order_by("-pk")]}


def _summary(campaign: Campaign) -> Result:
    return {
        "campaign": campaign.name,
        "status": campaign_status(campaign),
        "queries": campaign.query_set.queries.count(),
        "labelled": campaign.triplets.filter(status="labelled").count(),
        "triplets": campaign.triplets.count(),
        "spent_cents": account_of(campaign).spent_cents,
    }


@app.verb("create", render=in_words, panel="Steps")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new campaign.")],
    sample: Annotated[
        int | None, typer.Option(metavar="N", help="Hold out N random queries of the corpus.")
    ] = None,
    queries: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Use your own queries.")
    ] = None,
    instructions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Markdown file for the annotators.")
    ] = None,
    qualification_test: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Your own qualification items; the policy says how many are drawn."
        ),
    ] = None,
    crowd: ChosenCrowd = None,
    seed: Seed = 0,
    policy: PolicyFile = None,
    budget: Budget = None,
) -> Result:
    """Create a campaign: choose its queries and fix its policy."""
    one_of({"--sample": sample, "--queries": queries}, required=True)
    cents = None if budget is None else cents_of(budget)
    rules = read_policy(policy, crowd=crowd)
    with progress(None, "Reading", " questions") as bar:
        drawn = choose_queries(name, seed=seed, sample=sample, queries=queries, progress=bar.update)
        campaign, details = save_campaign(
            by_command(),
            name,
            drawn,
            policy=rules,
            seed=seed,
            budget_cents=cents,
            instructions=instructions,
            items=qualification_test,
        )
    return {"campaign": campaign.name, **details}


@app.verb(IMPORT, render=in_words, panel="Steps")
@transaction.atomic
def import_campaign(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name of the campaign and of the source of its pairs."),
    ],
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="JSONL (.gz), one query with its candidates per line. From train.jsonl, dev.jsonl "
            "and test.jsonl, releases keep the splits.",
        ),
    ],
    license: Annotated[str, typer.Option(help="License of the questions and answers.")] = "",
    skip_faulty: Annotated[
        bool, typer.Option("--skip-faulty", help="Skip lines that cannot be used.")
    ] = False,
    crowd: ChosenCrowd = None,
    seed: Seed = 0,
    policy: PolicyFile = None,
    budget: Budget = None,
) -> Result:
    """Import a labelled dataset, to audit it, extend it or release it again."""
    size = sum(path.stat().st_size for path in files if path.is_file())
    with progress(size, "Importing", "B") as bar:
        made = import_dataset(
            files,
            name,
            policy=read_policy(policy, crowd=crowd),
            seed=seed,
            license=license,
            skip_faulty=skip_faulty,
            progress=bar.update,
        )
    if budget is not None:
        set_budget(made.campaign, cents_of(budget))
    counts = {
        "queries": made.queries,
        "candidates": made.candidates,
        "labelled": made.labelled,
        "positive": made.positive,
        "without_a_label": made.open,
        "lines_skipped": made.lines_skipped,
        "skipped": made.first_faults or None,
    }
    details = counts | {"budget_cents": account_of(made.campaign).budget_cents}
    record(by_command(), IMPORT, campaign=made.campaign, details=details)
    return {"campaign": made.campaign.name, **counts}


@campaign_verb("retrieve")
def retrieve_candidates(
    campaign: Campaign,
    retrievers: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="dense (default), bm25, or both joined by a comma: their rankings are fused.",
        ),
    ] = None,
    device: Device = settings.ENCODER_DEVICE,
) -> Result:
    """Find the top candidates of each query."""
    if campaign.query_set.brings_candidates:
        raise UserError(f"Campaign {campaign} came with its candidates: none are retrieved.")
    total = campaign.query_set.queries.count()
    names = retrievers.split(",") if retrievers else campaign.query_set.retrievers

    def note(found: int) -> None:
        details = {"retrievers": list(names), "queries": total, "candidates": found}
        record(by_command(), "retrieve", campaign=campaign, details=details)

    with ExitStack() as bars:
        show = partial(_bar, bars)
        found = retrieve(
            campaign.query_set,
            k=campaign.policy.candidates_per_query,
            retrievers=names,
            device=device,
            encoding=show(total, "Encoding", "query"),
            reading=show(None, "Reading for BM25", " pairs") if BM25 in names else no_progress,
            progress=show(total, "Retrieving", "query"),
            conclude=note,
        )
    return {"campaign": campaign.name, "queries": total, "candidates": found}


def _bar(bars: ExitStack, total: int | None, label: str, unit: str) -> Progress:
    """Shown until the stack of bars is left."""
    return bars.enter_context(progress(total, label, unit)).update


@campaign_verb("estimate")
def estimate(campaign: Campaign) -> Result:
    """Estimate the cost before you spend anything."""
    triplets = triplets_to_judge(campaign)
    costs = estimate_cost(triplets, campaign.policy)
    left_out = "replacements of rejected and discarded work"
    return {
        "campaign": campaign.name,
        "triplets": triplets,
        **asdict(costs),
        "not_counted": left_out,
    }


@campaign_verb("pack")
def pack(campaign: Campaign) -> Result:
    """Pack triplets into HITs, each with a positive and a negative control."""
    hits = hits_needed(triplets_to_judge(campaign), campaign.policy)
    with progress(hits, "Packing", "HIT") as bar, transaction.atomic():
        packed = pack_hits(campaign, progress=bar.update)
        if not packed.already:
            record(by_command(), "pack", campaign=campaign, details=asdict(packed))
    return {"campaign": campaign.name, **asdict(packed)}


@campaign_verb("publish")
def publish_hits(
    campaign: Campaign,
    first: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Publish N HITs in all for now; the rest with another `publish`."
        ),
    ] = None,
    live: Live = False,
) -> Result:
    """Send the HITs to the crowd, as far as the budget allows.

    Run it again to send only what is missing.
    """
    crowd = open_crowd(campaign.policy.crowd, live=live)
    prepare_publication(campaign, crowd, most=first)
    with logged(by_command(), "publish", campaign) as entry:
        written = write_messages(campaign, most=first)
        entry.details |= asdict(written)
    with progress(waiting(campaign), "Publishing", "HIT") as bar:
        delivery = deliver(campaign, crowd, progress=messages_sent(campaign, bar))
    if delivery.stopped_by:
        raise UserError(
            f"{delivery.sent} calls were made, {waiting(campaign)} wait for the next "
            f"`quorum campaign publish {campaign}`: {delivery.stopped_by}"
        )
    return {
        "campaign": campaign.name,
        "new_hits": written.new,
        "left_out": written.left_out,
        "held_back": written.held_back,
        **asdict(delivery),
        "waiting": waiting(campaign),  # what another process has claimed
        "status": campaign_status(campaign),
        **_where(crowd),
    }


def _where(crowd: Crowd) -> dict[str, object]:
    """MTurk's workers find HITs by themselves, people of one's own are told."""
    return {"work_at": settings.PUBLIC_URL + reverse("work")} if crowd.site.is_local else {}


@campaign_verb("collect")
def collect(campaign: Campaign, live: Live = False) -> Result:
    """Fetch submissions once, then review them, count votes, break ties and exclude workers."""
    if campaign.state == Campaign.State.CANCELLED and not campaign.endpoint:
        raise UserError(
            f"Campaign {campaign} was cancelled before it was published: there is nothing to "
            "collect."
        )
    crowd = open_crowd(campaign.policy.crowd, live=live)
    # Of many transactions: that it was begun is written first, whatever comes of it.
    record(by_command(), "collect", campaign=campaign)
    with (
        progress(None, "Collecting", " HITs") as bar,
        progress(None, "Approving, rejecting, extending", " calls") as calls,
    ):
        found = advance(campaign, crowd, progress=bar.update, sending=calls.update)
    take_after_a_pass(campaign)
    if found.stopped_by:
        raise UserError(
            f"{found.new} submissions came in and {found.sent} calls were made, "
            f"{found.waiting} wait for the next `quorum campaign collect {campaign}`: "
            f"{found.stopped_by}"
        )
    return {"campaign": campaign.name, **asdict(found)}


def _statuses(result: Result) -> Rendered:
    if "campaigns" not in result:
        return in_words(result)
    blocks = [block for one in result["campaigns"] for block in (Facts(worded(one)), "")]
    return blocks[:-1] or _table(result)


@app.verb("status", render=_statuses, panel="Steps")
def status(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="One campaign; without it, all.")
    ] = None,
) -> Result:
    """Show progress, costs and blockers of a campaign, or of all."""
    if name is not None:
        return _status(get_campaign(name))
    return {"campaigns": [_status(one) for one in Campaign.objects.order_by("-pk")]}


def _status(campaign: Campaign) -> Result:
    return progress_of(campaign) | no_money(campaign.policy)


def _text(result: Result) -> Rendered:
    """As it is: it may go to a file, to be edited."""
    return result["text"] if "text" in result else in_words(result)


@campaign_verb("instructions", render=_text)
def instructions(
    campaign: Campaign,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Markdown file: the new version.")
    ] = None,
) -> Result:
    """Print the annotators' instructions, or replace them for HITs not published yet."""
    if file is None:
        newest = campaign.instructions.latest("version")
        return {"campaign": campaign.name, "version": newest.version, "text": newest.text}
    added = save_instructions(by_command(), campaign, read_instructions(file))
    return {"campaign": campaign.name, **asdict(added)}
