"""`manage.py campaign STEP NAME`: the way of a campaign, one step at a time."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from annotation.access.audit_log import by_command, record
from annotation.crowd.port import CrowdError
from annotation.management.campaign import dry_run
from annotation.management.campaign import instructions as campaign_texts
from annotation.management.campaign import operations as campaign_operations
from annotation.management.campaign import pilot as campaign_pilot
from annotation.management.campaign import pool_depth as campaign_audit
from annotation.management.campaign import steps as campaign_steps
from annotation.management.campaign.base import Options, Result
from annotation.management.campaign.expert_words import in_words
from annotation.models import Campaign
from annotation.operations.campaigns import KIND as CREATE
from annotation.operations.campaigns import save_campaign
from annotation.pipeline.ledger.accounts import account_of, set_budget
from annotation.pipeline.ledger.dollars import cents_of, clause, dollars, no_money
from annotation.pipeline.setup.create import choose_queries, get_campaign, read_policy
from annotation.pipeline.setup.import_dataset import import_dataset
from annotation.protocol.policy.crowds import CROWDS
from core.command import QuorumCommand, add_subcommand
from core.errors import UserError

IMPORT = "import"
STEPS = {
    **campaign_steps.STEPS,
    **campaign_texts.STEPS,
    **campaign_operations.STEPS,
    **campaign_audit.STEPS,
    **dry_run.STEPS,
    **campaign_pilot.STEPS,
}
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
    "hourly_cents_median": "hourly wage, worker in the middle",
    "hourly_cents_pooled": "hourly wage, all work together",
}


class Command(QuorumCommand):
    help = (
        "A campaign, from its queries to its labels: " + ", ".join([CREATE, IMPORT, *STEPS]) + "."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
        _create_arguments(
            add_subcommand(steps, CREATE, help="hold out the queries and fix the policy")
        )
        _import_arguments(
            add_subcommand(
                steps,
                IMPORT,
                help="take a dataset labelled elsewhere, to audit it, extend it or release it anew",
            )
        )
        for name, step in STEPS.items():
            sub = add_subcommand(steps, name, help=step.help)
            sub.add_argument("name", help="the campaign's name")
            step.arguments(sub)

    def run(self, *args: Any, **options: Any) -> Result:
        if options["step"] == CREATE:
            return _create(self, options)
        if options["step"] == IMPORT:
            return _import(self, options)
        step, campaign = STEPS[options["step"]], get_campaign(options["name"])
        try:
            result = step.run(self, campaign, options)
        except CrowdError as error:
            raise UserError(str(error)) from error
        sums = any(map(_is_sum, result))
        return {**result, **no_money(campaign.policy)} if sums else result

    def render(self, result: Result) -> str:
        if "text" in result:  # as it is: it may go to a file, to be edited
            return str(result["text"])
        if "money" in result:  # it says that none moves
            result = {key: value for key, value in result.items() if value or not _is_sum(key)}
        if "hidden_share" in result:
            result = campaign_audit.in_words(result)
        return super().render(dict(_worded(key, value) for key, value in result.items()))


def _create(command: QuorumCommand, options: Options) -> Result:
    budget = None if options["budget"] is None else cents_of(options["budget"])
    name, seed = options["name"], options["seed"]
    policy = read_policy(options["policy"], crowd=options["crowd"])
    with command.progress(None, "reading", " questions") as bar:
        drawn = choose_queries(
            name,
            seed=seed,
            sample=options["sample"],
            queries=options["queries"],
            progress=bar.update,
        )
        campaign, details = save_campaign(
            by_command(),
            name,
            drawn,
            policy=policy,
            seed=seed,
            budget_cents=budget,
            instructions=options["instructions"],
            practice=options["practice"],
        )
    return {"campaign": campaign.name, **details}


@transaction.atomic
def _import(command: QuorumCommand, options: Options) -> Result:
    files: list[Path] = options["files"]
    size = sum(path.stat().st_size for path in files if path.is_file())
    with command.progress(size, "importing", "B") as bar:
        made = import_dataset(
            files,
            options["name"],
            policy=read_policy(options["policy"], crowd=options["crowd"]),
            seed=options["seed"],
            license=options["license"],
            skip_faulty=options["skip_faulty"],
            progress=bar.update,
        )
    _set_budget(made.campaign, options)
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


def _set_budget(campaign: Campaign, options: Options) -> None:
    if options["budget"] is not None:
        set_budget(campaign, cents_of(options["budget"]))


def _import_arguments(parser: CommandParser) -> None:
    parser.add_argument("name", help="the campaign's name, and the source of its pairs")
    parser.add_argument(
        "files",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="JSONL (.gz), a query a line with its candidates; from train.jsonl, dev.jsonl and "
        "test.jsonl, releases keep the splits",
    )
    parser.add_argument("--license", default="", help="of the questions and answers")
    parser.add_argument(
        "--skip-faulty", action="store_true", help="leave out lines that cannot be used"
    )
    _common_arguments(parser)


def _create_arguments(parser: CommandParser) -> None:
    parser.add_argument("name", help="the campaign's name")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--sample", type=int, metavar="N", help="queries to hold out at random")
    source.add_argument("--queries", type=Path, metavar="FILE", help="your own queries")
    file: dict[str, Any] = {"type": Path, "metavar": "FILE"}
    parser.add_argument("--instructions", **file, help="Markdown for the annotators")
    parser.add_argument(
        "--practice", **file, help="your own practice items, drawn from as the policy says"
    )
    _common_arguments(parser)


def _common_arguments(parser: CommandParser) -> None:
    parser.add_argument(
        "--crowd",
        choices=CROWDS,
        help="who judges: workers of Mechanical Turk (default), or people of your own",
    )
    parser.add_argument("--seed", type=int, default=0, help="of sampling, packing and splits")
    parser.add_argument(
        "--policy", type=Path, metavar="FILE", help="JSON: what differs from the paper's policy"
    )
    parser.add_argument(
        "--budget", metavar="DOLLARS", help="what it may cost at most; also set by `budget`"
    )


def _is_sum(key: str) -> bool:
    return "cents" in key.split("_")


def _worded(key: str, value: object) -> tuple[str, object]:
    """Money in dollars, the two prices of a quote and a list of faults as sentences."""
    if _is_sum(key) and isinstance(value, int):
        return MONEY.get(key, key.replace("_cents", "_money")), dollars(value)
    if key == "expert":
        return "experts", in_words(value)
    if isinstance(value, dict):
        per_hit, total = value["assignments_per_hit"], value["assignments"]
        price = clause(", {}", value["cents"])
        return f"ties by {key}", f"{per_hit:.2f} assignments a HIT, {total:,} in all{price}"
    if isinstance(value, list):
        numbers = all(isinstance(each, int) for each in value)
        return key, (" " if numbers else "; ").join(map(str, value)) or "nothing"
    return key, value
