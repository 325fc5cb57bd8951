"""A campaign of its own over the ranks below, to learn how many positives the pool hides."""

from django.conf import settings

from annotation.access.roles import CREATE
from annotation.models import Campaign
from annotation.operations.operation import Argument, LongOperation, Options, Order, Result, Run
from annotation.pipeline.ledger.reservations import account_of, set_budget
from annotation.pipeline.setup.pool_depth import (
    DEEPEST,
    QUERIES,
    Plan,
    create_depth_study,
    plan_depth_study,
)
from annotation.protocol.estimates.cost import estimate_cost, is_free
from core.text.money import cents_of, money


def _plan(campaign: Campaign, options: Options) -> Plan:
    if options["budget"] is not None:
        cents_of(options["budget"])
    name = options["study"] or f"{campaign}-depth"
    wanted = {key: options[key] for key in ("queries", "to", "seed")}
    return plan_depth_study(campaign, name, **wanted)


def _preview(campaign: Campaign, options: Options) -> list[str]:
    plan, policy = _plan(campaign, options), campaign.policy
    costs = estimate_cost(plan.candidates, policy)
    cost = (
        "The work is unpaid."
        if is_free(policy)
        else f"Its first round costs {money(costs.cents_min)}. Nothing is spent until you "
        "publish it."
    )
    return [
        f"Campaign {plan.name} is created for the ranks {plan.first} to {plan.last} of "
        f"{plan.queries:,} queries of {campaign}: {plan.candidates:,} triplets, {costs.hits:,} "
        "HITs.",
        cost,
    ]


def _order(campaign: Campaign, options: Options) -> Order:
    plan = _plan(campaign, options)
    given = {"study": plan.name, "queries": plan.queries, "to": plan.last, "seed": options["seed"]}
    return Order(given | ({"budget": options["budget"]} if options["budget"] else {}))


def _run(campaign: Campaign, options: Options, run: Run) -> Result:
    plan, budget = _plan(campaign, options), options["budget"]

    def made(study: Campaign) -> None:
        if budget is not None:
            set_budget(study, cents_of(budget))
        run.own(study)
        run.log({"study": study.name, "budget_cents": account_of(study).budget_cents})

    study = create_depth_study(
        campaign,
        plan.name,
        queries=plan.queries,
        to=plan.last,
        seed=options["seed"],
        device=options["device"],
        made=made,
        progress=run.stage("retrieving", plan.queries),
    )
    return {
        "study": study.name,
        "queries": plan.queries,
        "first_rank": plan.first,
        "last_rank": plan.last,
        "candidates": plan.candidates,
        "seed": study.seed,
        "budget_cents": account_of(study).budget_cents,
    }


OPERATIONS = (
    LongOperation(
        "pool-depth",
        "create a campaign that judges deeper ranks, for some of this campaign's queries",
        CREATE,
        _run,
        (
            Argument(
                "queries",
                "count",
                "Queries to draw",
                f"by default {QUERIES}, or all if there are fewer",
                maximum=1_000_000,
                optional=True,
            ),
            Argument(
                "to",
                "count",
                "Last rank to judge",
                "by default, twice the campaign's candidates per query",
                maximum=DEEPEST,
                optional=True,
            ),
            Argument("seed", "count", "Random seed", default=0, minimum=0, maximum=10**18 - 1),
            Argument(
                "study",
                "name",
                "Name of the new campaign",
                "by default, this campaign's name and -depth",
                optional=True,
            ),
            Argument("budget", "money", "Budget of the new campaign", optional=True),
        ),
        (Argument("device", "device", "Device", default=settings.ENCODER_DEVICE),),
        preview=_preview,
        example=("Campaign faq-depth is created for ranks 31 to 60 of 100 queries of faq.",),
        order=_order,
        everywhere=True,
        is_study=True,
    ),
)
