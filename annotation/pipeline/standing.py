"""How a campaign stands, and what in it stands still: sentences that name what to do."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Min, Sum
from django.utils import timezone

from annotation.models import Assignment, Campaign, Intent
from annotation.pipeline.claims import Clock
from annotation.pipeline.forecast import expired_hits
from annotation.pipeline.ledger import account_of, first_round_cents
from annotation.pipeline.money import dollars
from annotation.pipeline.open_places import missing_places
from annotation.pipeline.publish import left_out
from annotation.protocol.cost import assignment_cents, is_free

MOST = 10  # reasons that are told

State = Campaign.State


@dataclass(frozen=True)
class Shortage:
    """What waits for a higher budget, and what it costs."""

    hits: int  # of the first round
    places: int  # for votes that are missing
    cents: int


def standing(campaign: Campaign) -> str:
    """The state, and what follows from it."""
    campaign.refresh_from_db(fields=["state"])
    if campaign.state == State.CAPPED:
        return _at_its_budget(campaign)
    return {
        State.ACTIVE: "active",
        State.PAUSED: "paused by hand: nothing more is bought until "
        f"`manage.py campaign resume {campaign}`",
        State.CANCELLED: "cancelled for good: what was handed in is still reviewed"
        + ("" if is_free(campaign.policy) else " and paid"),
    }[State(campaign.state)]


def _at_its_budget(campaign: Campaign) -> str:
    short = shortage(campaign)
    account = account_of(campaign)
    more = max(0, short.cents - account.available_cents)
    if not more:
        return "at its budget, and there is room again: the next pass buys on"
    return (
        f"at its budget: {short.hits:,} HITs and {short.places:,} further votes wait; raise it by "
        f"{dollars(more)}: `manage.py campaign budget {campaign} "
        f"{(account.budget_cents + more) / 100:.2f}`"
    )


def shortage(campaign: Campaign) -> Shortage:
    hits, plan, policy = left_out(campaign), missing_places(campaign), campaign.policy
    groups = -(-len(plan.repacked) // policy.real_items)
    unpaid = [(hit, extra - min(extra, hit.spare)) for hit, extra in plan.extensions]
    return Shortage(
        hits=hits,
        places=groups + sum(extra for _, extra in plan.extensions),
        cents=hits * first_round_cents(policy)
        + groups * assignment_cents(policy, 1)
        + sum(new * hit.price_cents for hit, new in unpaid),
    )


def stuck(campaign: Campaign, *, clock: Clock = timezone.now) -> list[str]:
    """What stands still, with its reason and count and what to do about it."""
    return [
        *_refused(campaign),
        *_waiting(campaign),
        *_unreadable(campaign),
        *_expired(campaign, clock()),
        *_uncovered(campaign),
    ]


def _refused(campaign: Campaign) -> Iterator[str]:
    failed = campaign.intents.filter(state=Intent.State.FAILED).values("kind", "error")
    rows = failed.annotate(calls=Count("pk"), tries=Max("attempts"))
    for row in rows.order_by("-calls", "kind", "error")[:MOST]:
        yield (
            f"{row['kind']}, {row['calls']} times: {row['error']} (refused, "
            f"{_tries(row['tries'])}; when that is mended: `manage.py campaign retry {campaign}`)"
        )


def _waiting(campaign: Campaign) -> Iterator[str]:
    unsent = campaign.intents.filter(state__in=[Intent.State.PENDING, Intent.State.CLAIMED])
    faults = unsent.exclude(error="").values("kind", "error")
    rows = faults.annotate(calls=Count("pk"), tries=Max("attempts"), next_at=Min("retry_at"))
    for row in rows.order_by("-calls", "kind", "error")[:MOST]:
        yield f"{row['kind']}, {row['calls']} times: {row['error']}" + _turn(**row)


def _turn(*, tries: int, next_at: datetime | None, **_: object) -> str:
    """How often it was tried, and when it is its turn again."""
    if not tries:
        return ""
    when = "with the next pass" if next_at is None else f"from {next_at:%Y-%m-%d %H:%M:%S} UTC on"
    return f" ({_tries(tries)}, again {when})"


def _tries(count: int) -> str:
    return "tried once" if count == 1 else f"tried {count} times"


def _unreadable(campaign: Campaign) -> Iterator[str]:
    faults = campaign.hits.exclude(fault="").order_by().values_list("fault")
    for reason, hits in faults.annotate(hits=Count("pk")).order_by("-hits", "fault")[:MOST]:
        yield f"{hits} HITs cannot be read: {reason}"


def _expired(campaign: Campaign, now: datetime) -> Iterator[str]:
    expired = expired_hits(campaign, now).count()
    if expired and campaign.state != State.CANCELLED:
        yield (
            f"{expired} HITs have expired with votes missing: "
            f"`manage.py campaign extend {campaign} --days 7` gives them more time"
        )


def _uncovered(campaign: Campaign) -> Iterator[str]:
    """The ledger could not book these: somebody has bought them past this campaign's budget."""
    works = Assignment.objects.filter(
        hit__campaign=campaign,
        status=Assignment.Status.APPROVED,
        passed__isnull=False,
        account=Assignment.Booked.RESERVED,
    )
    found = works.aggregate(works=Count("pk"), cents=Sum("hit__price_cents", default=0))
    if found["works"]:
        yield (
            f"{found['works']} approved assignments, {dollars(found['cents'])}, are not covered by "
            f"the budget: raise it by `manage.py campaign budget {campaign} DOLLARS`"
        )
