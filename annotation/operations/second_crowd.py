"""Some of a campaign's queries for a second crowd, in a campaign of its own."""

from django.db import transaction

from annotation.access.roles import CREATE, RUN
from annotation.models import Campaign, Role
from annotation.operations.operation import NOBODY, Argument, Operation, Options, Result
from annotation.pipeline.ledger.reservations import account_of, set_budget
from annotation.pipeline.publishing.pack import triplets_to_judge
from annotation.pipeline.publishing.second_crowd import create_second_crowd
from annotation.protocol.estimates.cost import estimate_cost, is_free
from annotation.protocol.policy.crowds import CROWDS
from core.text.money import cents_of, money

MOST_LOGGED = 100  # ids; a file may name many more


def _preview(campaign: Campaign, options: Options) -> list[str]:
    """What would follow, tried and taken back."""
    with transaction.atomic():
        done = _execute(campaign, {**options, "by": NOBODY})
        second = Campaign.objects.get(name=done["second"])
        costs = estimate_cost(done["triplets"], second.policy)
        transaction.set_rollback(True)
    cost = (
        "The work is unpaid."
        if is_free(second.policy)
        else f"Its first round costs {money(costs.cents_min)}, from a budget of its own."
    )
    deleted = f"{done['hits_deleted']:,} packed HITs are deleted. " if done["hits_deleted"] else ""
    return [
        f"{done['queries']:,} queries of {campaign} move to the new campaign {second}, whose crowd "
        f"is {second.policy.crowd_traits.title}; {done['queries_left']:,} stay.",
        f"{second} has {done['triplets']:,} triplets to judge, in {costs.hits:,} HITs. {cost}",
        f"{deleted}Pack and publish both campaigns next. Their labels are released together, as "
        f"releases of {campaign}. You cannot move the queries back.",
    ]


def _execute(campaign: Campaign, options: Options) -> Result:
    crowd = CROWDS[options["crowd"]].kind
    packed = campaign.hits.count()
    second = create_second_crowd(
        campaign,
        options["second"] or f"{campaign}-{crowd}",
        crowd=crowd,
        queries=options["queries"],
        ids=options["ids"],
        reward_cents=options["reward_cents"],
        seed=options["seed"],
    )
    if options["budget"] is not None:
        set_budget(second, cents_of(options["budget"]))
    _give_to_owners(second, campaign, options)
    return {
        "second": second.name,
        "ids": (options["ids"] or [])[:MOST_LOGGED],
        "queries": second.query_set.queries.count(),
        "queries_left": campaign.query_set.queries.count(),
        "triplets": triplets_to_judge(second),
        "hits_deleted": packed,
        "reward_cents": second.policy.reward_cents,
        "budget_cents": account_of(second).budget_cents,
    }


def _give_to_owners(second: Campaign, first: Campaign, options: Options) -> None:
    """Whoever owns the first one owns this too, and so does who creates it."""
    owners = Role.objects.filter(campaign=first, name=Role.Name.OWNER)
    users = set(owners.values_list("user", flat=True))
    if options["by"].user:
        users.add(options["by"].user.pk)
    Role.objects.bulk_create(
        Role(user_id=user, campaign=second, name=Role.Name.OWNER) for user in sorted(users)
    )


OPERATIONS = (
    Operation(
        "second-crowd",
        "let a second crowd judge some of this campaign's queries, in a campaign of its own",
        CREATE,
        _preview,
        _execute,
        (
            Argument("crowd", "choice", "Crowd", "who judges the queries", choices=tuple(CROWDS)),
            Argument(
                "queries",
                "count",
                "Queries to move",
                "drawn at random",
                maximum=1_000_000,
                optional=True,
            ),
            Argument(
                "ids", "queries", "Ids of the queries", "in place of a random draw", optional=True
            ),
            Argument("seed", "count", "Random seed", default=0, minimum=0, maximum=10**18 - 1),
            Argument(
                "second",
                "name",
                "Name of the new campaign",
                "by default, this campaign's name and the crowd's",
                optional=True,
            ),
            Argument(
                "reward_cents",
                "count",
                "Reward per HIT, in cents",
                "by default, what this crowd usually gets",
                minimum=0,
                maximum=100_000,
                optional=True,
            ),
            Argument("budget", "money", "Budget of the new campaign", optional=True),
        ),
        everywhere=True,
        also=RUN,
        is_study=True,
        calls_crowd=False,
        title="Second crowd for",
        button="Create the campaign",
    ),
)
