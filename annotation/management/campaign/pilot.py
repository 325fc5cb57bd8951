"""`manage.py campaign pilot`: the same triplets judged with the answer and without it."""

from django.core.management.base import CommandParser

from annotation.access.audit_log import by_command
from annotation.analytics.quality.pilot_report import Condition, pilot_report
from annotation.management.campaign.base import Options, Result, Step
from annotation.models import Campaign
from annotation.operations.pilots import make_pilot
from annotation.pipeline.ledger.dollars import cents_of
from annotation.pipeline.setup.create_pilot import TRIPLETS, pilot_of
from annotation.protocol.estimates.cost import quote
from annotation.protocol.labels.expert_agreement import DECIMALS, rounded
from annotation.protocol.studies.pilot import Comparison
from core.command import QuorumCommand
from core.errors import UserError


def _pilot(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    budget = cents_of(options["budget"]) if options["budget"] is not None else None
    pilot = make_pilot(
        by_command(),
        campaign,
        options["pilot_name"] or f"{campaign}-pilot",
        triplets=options["triplets"],
        seed=options["seed"],
        budget_cents=budget,
    )
    conditions = [pilot.shown, pilot.hidden]
    costs = quote(options["triplets"], pilot.shown.policy)
    return {
        "pilot": pilot.name,
        "source": campaign.name,
        "conditions": [condition.name for condition in conditions],
        "triplets": options["triplets"],
        "seed": options["seed"],
        "hits_per_condition": costs.hits,
        "cents_min_per_condition": costs.cents_min,
        "cents_max_per_condition": costs.cents_max,
    }


def _report(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    pilot = pilot_of(campaign)
    if pilot is None:
        raise UserError(
            f"Campaign {campaign} is not a condition of a pilot: make one by `manage.py "
            f"campaign pilot {campaign}`."
        )
    report = pilot_report(pilot)
    return {
        "pilot": pilot.name,
        "source": report.source.name,
        **_condition("with", report.shown),
        **_condition("without", report.hidden),
        "triplets_with_gold": report.gold,
        "without_a_label_in_a_condition": report.without_a_label,
        "workers_in_both_conditions": report.in_both_conditions,
        "triplets_met_again": report.met_again,
        **_compared(report.comparison),
    }


def _compared(found: Comparison | None) -> Result:
    """Each share with the bounds of its interval."""
    if found is None:
        return {"compared": 0}
    return {
        "compared": found.triplets,
        "error_with_the_answer": _rounded(*found.shown[2:]),
        "error_without_it": _rounded(*found.hidden[2:]),
        "difference": _rounded(found.difference, found.low, found.high),
        "relative_change": None if found.relative is None else round(-found.relative, DECIMALS),
        "accuracy_with_the_answer": round(found.accuracy, DECIMALS),
    }


def _condition(name: str, condition: Condition) -> Result:
    return {
        f"labelled_{name}": condition.labelled,
        f"open_{name}": condition.open,
        f"unresolved_{name}": condition.unresolved,
        f"agreement_{name}": rounded(condition.agreement),
        f"spent_cents_{name}": condition.spent_cents,
    }


def _rounded(*numbers: float) -> list[float]:
    return [round(number, DECIMALS) for number in numbers]


def _pilot_arguments(parser: CommandParser) -> None:
    parser.add_argument(
        "--triplets", type=int, default=TRIPLETS, metavar="N", help=f"default {TRIPLETS}"
    )
    parser.add_argument("--seed", type=int, default=0, help="of drawing and packing")
    parser.add_argument(
        "--name", dest="pilot_name", metavar="PILOT", help="NAME-pilot; PILOT-with is a condition"
    )
    parser.add_argument("--budget", metavar="DOLLARS", help="what each condition may cost at most")


STEPS = {
    "pilot": Step(
        "make two campaigns over the same triplets of this one, with the answer and without it",
        _pilot,
        _pilot_arguments,
    ),
    "pilot-report": Step(
        "say how often each condition of a pilot errs, of either condition's name", _report
    ),
}
