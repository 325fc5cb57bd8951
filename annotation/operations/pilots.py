"""A pilot: two campaigns that differ by whether annotators see the answer."""

from django.db import transaction

from annotation.access.audit_log import Actor, record
from annotation.models import Campaign, Pilot, Role
from annotation.pipeline.ledger.dollars import dollars
from annotation.pipeline.ledger.reservations import set_budget
from annotation.pipeline.setup.create_pilot import condition_names, draw_pilot, save_pilot
from annotation.protocol.estimates.cost import estimate_cost, is_free


def preview_pilot(source: Campaign, name: str, *, triplets: int) -> list[str]:
    policy = source.policy
    costs = estimate_cost(triplets, policy)
    mode = costs.extend if policy.tie_mode == "extend" else costs.repack
    shown, hidden = condition_names(name)
    money = (
        "The work is unpaid."
        if is_free(policy)
        else f"A condition costs {dollars(costs.cents_min)} in the first round, about "
        f"{dollars(mode.cents)} with its ties and {dollars(costs.cents_max)} if every HIT needs "
        f"all votes; both together about {dollars(2 * mode.cents)}."
    )
    return [
        f"{triplets:,} triplets of {source} are drawn and copied into two campaigns, {shown} and "
        f"{hidden}, which differ by the answer alone.",
        f"Each condition takes {costs.hits:,} HITs, about {mode.assignments:,} assignments.",
        money,
        "Nothing is spent until you give each condition a budget and publish it.",
    ]


def make_pilot(
    by: Actor,
    source: Campaign,
    name: str,
    *,
    triplets: int,
    seed: int,
    budget_cents: int | None = None,
) -> Pilot:
    """The account that makes it owns both conditions; each gets the budget."""
    drawn = draw_pilot(source, name, triplets=triplets, seed=seed)
    details = {
        "pilot": name,
        "source": source.name,
        "triplets": triplets,
        "seed": seed,
        "budget_cents": budget_cents or 0,
    }
    with transaction.atomic():
        pilot = save_pilot(source, name, drawn, seed=seed)
        for condition in (pilot.shown, pilot.hidden):
            if budget_cents is not None:
                set_budget(condition, budget_cents)
            if by.user is not None:
                Role.objects.create(user=by.user, campaign=condition, name=Role.Name.OWNER)
            record(by, "pilot", campaign=condition, details=details)
    return pilot
