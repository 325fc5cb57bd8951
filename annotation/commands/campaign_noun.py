"""`quorum campaign`: what its verbs have in common, and how their results are worded."""

import inspect
from collections.abc import Callable
from functools import wraps
from math import isfinite
from typing import Annotated, Any

import typer

from annotation.analytics.campaign.plan import plan_in_words
from annotation.crowd.port import CrowdError
from annotation.pipeline.setup.create import get_campaign
from annotation.protocol.estimates.cost import is_free
from annotation.protocol.policy.policy import Policy
from annotation.protocol.screening.control import reasons_in_words
from core.command import Noun, Result
from core.errors import UserError
from core.output import Facts, Rendered
from core.text.money import clause, money

CampaignVerb = Callable[..., Result]
STEPS, OPERATIONS, STUDIES = "Steps", "Operations", "Studies"
app = Noun("Campaigns, from their queries to their labels.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the campaign.")]
Seed = Annotated[int, typer.Option(help="Random seed for sampling, packing and splits.")]
Budget = Annotated[
    str | None, typer.Option(metavar="AMOUNT", help="Maximum cost; also set by `budget`.")
]
MONEY = {
    "cents_min": "first round",
    "cents_max": "if every HIT needs all votes",
    "budget_cents": "budget",
    "reserved_cents": "reserved",
    "paid_cents": "paid",
    "discarded_cents": "paid but discarded",
    "billed_cents": "difference by the crowd's bill",
    "available_cents": "available",
    "spent_cents": "spent",
    "cents": "amount",
    "waiting_cents": "for what is planned",
    "open_cents": "for open assignments",
    "tie_break_cents": "for ties",
    "undecided_cents": "for undecided work",
    "left_out_cents": "for what is left out",
    "free_cents": "free again",
    "hourly_cents_median": "hourly wage, worker in the middle",
    "hourly_cents_pooled": "hourly wage, all work together",
}


def campaign_verb(
    name: str, *, panel: str = STEPS, render: Callable[[Result], Rendered] | None = None
) -> Callable[[CampaignVerb], CampaignVerb]:
    """A verb on a campaign that exists: the function's first argument is the campaign."""

    def register(function: CampaignVerb) -> CampaignVerb:
        @wraps(function)
        def run(name: str, **options: Any) -> Result:
            campaign = get_campaign(name)
            try:
                result = function(campaign, **options)
            except CrowdError as error:
                raise UserError(str(error)) from error
            sums = any(map(_is_sum, result))
            return {**result, **no_money(campaign.policy)} if sums else result

        _, *options = inspect.signature(function).parameters.values()
        named = inspect.Parameter("name", inspect.Parameter.KEYWORD_ONLY, annotation=Name)
        keyword = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in options]
        run.__signature__ = inspect.Signature([named, *keyword])  # type: ignore[attr-defined]
        app.verb(name, render=render or in_words, panel=panel)(run)
        return run

    return register


def in_words(result: Result) -> Rendered:
    return Facts(worded(result))


def worded(result: Result) -> Result:
    if "money" in result:  # it says that none moves
        result = {key: value for key, value in result.items() if value or not _is_sum(key)}
    return dict(_worded(key, value) for key, value in result.items())


def finite(value: float | None) -> float | None:
    """Of an option: other than a range's ends, this refuses nan."""
    if value is not None and not isfinite(value):
        raise typer.BadParameter(f"{value:g} is no number.")
    return value


def no_money(policy: Policy) -> dict[str, object]:
    """What is said in place of sums, where there are none."""
    return {"money": "none: the work is unpaid"} if is_free(policy) else {}


def _is_sum(key: str) -> bool:
    return "cents" in key.split("_")


def _worded(key: str, value: object) -> tuple[str, object]:
    """Sums as people read them; the two prices of an estimate and a list of faults as sentences."""
    if _is_sum(key) and isinstance(value, int):
        return MONEY.get(key, key.replace("_cents", "_money")), money(value)
    if key == "plan" and isinstance(value, dict):
        return key, "; ".join(plan_in_words(value))
    if key == "expert":
        return "experts", experts_in_words(value)
    if key == "rejection_reasons" and isinstance(value, dict):
        return key, reasons_in_words(value) or None
    if isinstance(value, dict):
        per_hit, total = value["assignments_per_hit"], value["assignments"]
        price = clause(", {}", value["cents"])
        return f"ties by {key}", f"{per_hit:.2f} assignments a HIT, {total:,} in all{price}"
    if isinstance(value, list):
        numbers = all(isinstance(each, int) for each in value)
        return key, (" " if numbers else "; ").join(map(str, value)) or "nothing"
    return key, value


def experts_in_words(expert: Any) -> str | None:
    """Nothing where there are none."""
    if not expert["labels"]:
        return None
    parts = [f"{expert['labels']:,} labels on {expert['triplets']:,} triplets"]
    if expert["unresolved_adjudicated"] is not None:
        parts.append(f"{expert['unresolved_adjudicated']:.1%} of the unresolved ones decided")
    if expert["agreement"] is not None:
        parts.append(f"agreement {expert['agreement']:.1%}")
    if expert["label_error"] is not None:
        low, high = expert["label_error_interval"]
        parts.append(
            f"label error {expert['label_error']:.1%} ({low:.1%} to {high:.1%}) of "
            f"{expert['label_error_triplets']:,}"
        )
    return ", ".join(parts)
