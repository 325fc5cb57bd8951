"""`manage.py campaign STEP NAME`: the way of a campaign, one step at a time."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from annotation.crowd.base import CrowdError
from annotation.management import campaign_life, campaign_people, campaign_steps
from annotation.management.steps import Options, Result
from annotation.pipeline.create import create_campaign, get_campaign, read_policy
from annotation.pipeline.ledger import account_of, set_budget
from annotation.pipeline.money import cents_of, dollars
from retrieval.cli import QuorumCommand, add_subcommand
from retrieval.errors import UserError

CREATE = "create"
STEPS = {**campaign_steps.STEPS, **campaign_life.STEPS, **campaign_people.STEPS}
MONEY = {
    "cents_min": "first round",
    "cents_max": "if every HIT needs all votes",
    "budget_cents": "budget",
    "reserved_cents": "reserved",
    "paid_cents": "paid",
    "discarded_cents": "paid but discarded",
    "available_cents": "available",
    "spent_cents": "spent",
    "cents": "amount",
    "waiting_cents": "for what is planned",
    "open_cents": "for open places",
    "spare_cents": "for ties",
    "undecided_cents": "for undecided work",
    "left_out_cents": "for what is left out",
    "free_cents": "free again",
}


class Command(QuorumCommand):
    help = "A campaign, from its queries to its labels: " + ", ".join([CREATE, *STEPS]) + "."

    def add_arguments(self, parser: CommandParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
        _create_arguments(
            add_subcommand(steps, CREATE, help="hold out the queries and fix the policy")
        )
        for name, step in STEPS.items():
            sub = add_subcommand(steps, name, help=step.help)
            sub.add_argument("name", help="the campaign's name")
            step.arguments(sub)

    def run(self, *args: Any, **options: Any) -> Result:
        if options["step"] == CREATE:
            return _create(options)
        step = STEPS[options["step"]]
        try:
            return step.run(self, get_campaign(options["name"]), options)
        except CrowdError as error:
            raise UserError(str(error)) from error

    def render(self, result: Result) -> str:
        return super().render(dict(_worded(key, value) for key, value in result.items()))


@transaction.atomic
def _create(options: Options) -> Result:
    campaign = create_campaign(
        options["name"],
        policy=read_policy(options["policy"]),
        seed=options["seed"],
        sample=options["sample"],
        queries=options["queries"],
        instructions=options["instructions"],
    )
    if options["budget"] is not None:
        set_budget(campaign, cents_of(options["budget"]))
    queries = campaign.query_set
    return {
        "campaign": campaign.name,
        "queries": queries.queries.count(),
        "duplicate_queries": queries.duplicates,
        "seed": campaign.seed,
        "budget_cents": account_of(campaign).budget_cents,
    }


def _create_arguments(parser: CommandParser) -> None:
    parser.add_argument("name", help="the campaign's name")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--sample", type=int, metavar="N", help="queries to hold out at random")
    source.add_argument("--queries", type=Path, metavar="FILE", help="your own queries")
    parser.add_argument("--seed", type=int, default=0, help="of sampling, packing and splits")
    file: dict[str, Any] = {"type": Path, "metavar": "FILE"}
    parser.add_argument("--policy", **file, help="JSON: what differs from the paper's policy")
    parser.add_argument("--instructions", **file, help="Markdown for the annotators")
    parser.add_argument(
        "--budget", metavar="DOLLARS", help="what it may cost at most; also set by `budget`"
    )


def _worded(key: str, value: object) -> tuple[str, object]:
    """Money in dollars, the two prices of a quote and a list of faults as sentences."""
    if "cents" in key.split("_") and isinstance(value, int):
        return MONEY.get(key, key.replace("_cents", "_money")), dollars(value)
    if isinstance(value, dict):
        per_hit, total = value["assignments_per_hit"], value["assignments"]
        price = dollars(value["cents"])
        return f"ties by {key}", f"{per_hit:.2f} assignments a HIT, {total:,} in all, {price}"
    if isinstance(value, list):
        return key, "; ".join(map(str, value)) or "nothing"
    return key, value
