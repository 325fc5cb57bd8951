"""`manage.py campaign STEP NAME`: the way of a campaign, one step at a time."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from annotation.crowd.base import Crowd, CrowdError
from annotation.crowd.open import open_crowd
from annotation.models import Campaign
from annotation.pipeline.advance import advance
from annotation.pipeline.assemble import pack_campaign
from annotation.pipeline.claims import waiting
from annotation.pipeline.create import create_campaign, get_campaign, read_policy
from annotation.pipeline.deliver import deliver
from annotation.pipeline.publish import publish
from annotation.progress import progress
from annotation.protocol.cost import quote
from annotation.protocol.packing import hits_needed
from retrieval.cli import QuorumCommand, add_subcommand
from retrieval.errors import UserError
from retrieval.search import retrieve

Result = dict[str, object]
MONEY = {
    "cents_min": "first round",
    "cents_max": "if every HIT needs all votes",
    "spent_cents": "spent",
}
STEPS = {
    "create": "hold out the queries and fix the policy",
    "retrieve": "find the top candidates of each query",
    "quote": "say what the campaign will cost, before anything is spent",
    "pack": "make the HITs: real triplets with a positive and a negative control each",
    "publish": "send the HITs to the crowd; run again, it sends only what is missing",
    "collect": "fetch what was handed in, review it, vote, break ties, exclude; once",
    "status": "say where the campaign stands",
}


class Command(QuorumCommand):
    help = "A campaign, from its queries to its labels: " + ", ".join(STEPS) + "."

    def add_arguments(self, parser: CommandParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
        for step, text in STEPS.items():
            sub = add_subcommand(steps, step, help=text)
            sub.add_argument("name", help="the campaign's name")
            if step == "create":
                _create_arguments(sub)
            if step == "retrieve":
                device = settings.ENCODER_DEVICE
                sub.add_argument("--device", default=device, help="auto, cpu or cuda")
            if step in {"publish", "collect"}:
                sub.add_argument(
                    "--live", action="store_true", help="really spend money on production MTurk"
                )

    def run(self, *args: Any, **options: Any) -> Result:
        step: Callable[..., Result] = getattr(self, f"_{options['step']}")
        if options["step"] == "create":
            return step(options)
        try:
            return step(get_campaign(options["name"]), options)
        except CrowdError as error:
            raise UserError(str(error)) from error

    def render(self, result: Result) -> str:
        return super().render(dict(_worded(key, value) for key, value in result.items()))

    def _create(self, options: dict[str, Any]) -> Result:
        campaign = create_campaign(
            options["name"],
            policy=read_policy(options["policy"]),
            seed=options["seed"],
            sample=options["sample"],
            queries=options["queries"],
            instructions=options["instructions"],
        )
        queries = campaign.query_set
        return {
            "campaign": campaign.name,
            "queries": queries.queries.count(),
            "duplicate_queries": queries.duplicates,
            "seed": campaign.seed,
        }

    def _retrieve(self, campaign: Campaign, options: dict[str, Any]) -> Result:
        wanted = campaign.policy.candidates_per_query
        total = campaign.query_set.queries.count()
        with self.progress(total, "retrieving", "query") as bar:
            found = retrieve(
                campaign.query_set, k=wanted, device=options["device"], progress=bar.update
            )
        return {"campaign": campaign.name, "queries": total, "candidates": found}

    def _quote(self, campaign: Campaign, options: dict[str, Any]) -> Result:
        policy = campaign.policy
        triplets = campaign.query_set.queries.count() * policy.candidates_per_query
        costs = quote(triplets, policy)
        left_out = "replacements of rejected and discarded work"
        return {
            "campaign": campaign.name,
            "triplets": triplets,
            **asdict(costs),
            "not_counted": left_out,
        }

    def _pack(self, campaign: Campaign, options: dict[str, Any]) -> Result:
        policy = campaign.policy
        triplets = campaign.query_set.queries.count() * policy.candidates_per_query
        with self.progress(hits_needed(triplets, policy), "packing", "HIT") as bar:
            packed = pack_campaign(campaign, progress=bar.update)
        return {"campaign": campaign.name, **asdict(packed)}

    def _publish(self, campaign: Campaign, options: dict[str, Any]) -> Result:
        crowd = self._crowd(options)
        written = publish(campaign, crowd)
        with self.progress(waiting(campaign), "publishing", "HIT") as bar:
            delivery = deliver(campaign, crowd, progress=bar.update)
        if delivery.stopped_by:
            raise UserError(
                f"{delivery.sent} calls were made, {waiting(campaign)} wait for the next "
                f"`manage.py campaign publish {campaign}`: {delivery.stopped_by}"
            )
        left = waiting(campaign)  # what another process has claimed
        return {"campaign": campaign.name, "new_hits": written, **asdict(delivery), "waiting": left}

    def _collect(self, campaign: Campaign, options: dict[str, Any]) -> Result:
        crowd = self._crowd(options)
        with (
            self.progress(None, "collecting", " HITs") as bar,
            self.progress(None, "approving, rejecting, extending", " calls") as calls,
        ):
            found = advance(campaign, crowd, progress=bar.update, sending=calls.update)
        if found.stopped_by:
            raise UserError(
                f"{found.new} submissions came in and {found.sent} calls were made, "
                f"{found.waiting} wait for the next `manage.py campaign collect {campaign}`: "
                f"{found.stopped_by}"
            )
        return {"campaign": campaign.name, **asdict(found)}

    def _status(self, campaign: Campaign, options: dict[str, Any]) -> Result:
        return progress(campaign)

    def _crowd(self, options: dict[str, Any]) -> Crowd:
        return open_crowd(live=options["live"])


def _worded(key: str, value: object) -> tuple[str, object]:
    """Money in dollars, the two prices of a quote and a list of faults as sentences."""
    if "cents" in key.split("_") and isinstance(value, int):
        return MONEY.get(key, key), f"${value / 100:,.2f}"
    if isinstance(value, dict):
        per_hit, total = value["assignments_per_hit"], value["assignments"]
        dollars = value["cents"] / 100
        sentence = f"{per_hit:.2f} assignments a HIT, {total:,} in all, ${dollars:,.2f}"
        return f"ties by {key}", sentence
    if isinstance(value, list):
        return key, "; ".join(map(str, value)) or "nothing"
    return key, value


def _create_arguments(parser: CommandParser) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--sample", type=int, metavar="N", help="queries to hold out at random")
    source.add_argument("--queries", type=Path, metavar="FILE", help="your own queries")
    parser.add_argument("--seed", type=int, default=0, help="of sampling, packing and splits")
    file: dict[str, Any] = {"type": Path, "metavar": "FILE"}
    parser.add_argument("--policy", **file, help="JSON: what differs from the paper's policy")
    parser.add_argument("--instructions", **file, help="Markdown for the annotators")
