"""A pilot: two campaigns that differ by whether annotators see the answer."""

from annotation.access.roles import CREATE
from annotation.models import Campaign, Role
from annotation.operations.operation import Argument, Operation, Options, Result
from annotation.pipeline.ledger.reservations import set_budget
from annotation.pipeline.setup.create_pilot import (
    MOST_TRIPLETS,
    TRIPLETS,
    condition_names,
    create_pilot,
    draw_pilot,
)
from annotation.protocol.estimates.cost import estimate_cost, is_free
from core.text.money import cents_of, money


def _preview(campaign: Campaign, options: Options) -> list[str]:
    name, policy, triplets = _name(campaign, options), campaign.policy, options["triplets"]
    draw_pilot(campaign, name, triplets=triplets, seed=options["seed"])
    _budget(options)
    costs = estimate_cost(triplets, policy)
    mode = costs.extend if policy.tie_mode == "extend" else costs.repack
    shown, hidden = condition_names(name)
    cost = (
        "The work is unpaid."
        if is_free(policy)
        else f"A condition costs {money(costs.cents_min)} in the first round, about "
        f"{money(mode.cents)} with its ties and {money(costs.cents_max)} if every HIT needs "
        f"all votes; both together about {money(2 * mode.cents)}."
    )
    return [
        f"{triplets:,} triplets of {campaign} are drawn and copied into two campaigns, {shown} and "
        f"{hidden}, which differ by the answer alone.",
        f"Each condition takes {costs.hits:,} HITs, about {mode.assignments:,} assignments.",
        cost,
        "Nothing is spent until each condition has a budget and you publish it.",
    ]


def _execute(campaign: Campaign, options: Options) -> Result:
    triplets, seed = options["triplets"], options["seed"]
    pilot = create_pilot(campaign, _name(campaign, options), triplets=triplets, seed=seed)
    cents, owner = _budget(options), options["by"].user
    for condition in (pilot.shown, pilot.hidden):
        if cents is not None:
            set_budget(condition, cents)
        if owner is not None:
            Role.objects.create(user=owner, campaign=condition, name=Role.Name.OWNER)
    costs = estimate_cost(triplets, pilot.shown.policy)
    return {
        "pilot": pilot.name,
        "conditions": [pilot.shown.name, pilot.hidden.name],
        "triplets": triplets,
        "seed": seed,
        "hits_per_condition": costs.hits,
        "cents_min_per_condition": costs.cents_min,
        "cents_max_per_condition": costs.cents_max,
    }


def _name(campaign: Campaign, options: Options) -> str:
    return options["pilot"] or f"{campaign}-pilot"


def _budget(options: Options) -> int | None:
    return None if options["budget"] is None else cents_of(options["budget"])


OPERATIONS = (
    Operation(
        "pilot",
        "create two campaigns over the same triplets: with the answer, and without it",
        CREATE,
        _preview,
        _execute,
        (
            Argument(
                "triplets",
                "count",
                "Triplets to judge",
                "drawn at random; the paper took 200",
                default=TRIPLETS,
                maximum=MOST_TRIPLETS,
            ),
            Argument("seed", "count", "Random seed", default=0, minimum=0, maximum=2**31),
            Argument(
                "pilot",
                "name",
                "Name of the pilot",
                "by default, this campaign's name and -pilot; its campaigns are PILOT-with and "
                "PILOT-without",
                optional=True,
            ),
            Argument("budget", "money", "Budget of each campaign", optional=True),
        ),
        everywhere=True,
        is_study=True,
        calls_crowd=False,
        confirms=False,
        title="Pilot of",
        button="Create both campaigns",
    ),
)
