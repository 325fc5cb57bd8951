"""Write down that a campaign's packed HITs are to be published; `deliver` sends them."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import F, QuerySet

from annotation.crowd.port import Crowd
from annotation.models import Campaign, Hit, OutboxMessage
from annotation.pipeline.changes import in_parts
from annotation.pipeline.ledger.reservations import (
    account_of,
    first_round_cents,
    locked,
    reserve_from_query,
    within,
)
from annotation.pipeline.outbox.messages import create_token, retry_failed
from annotation.pipeline.publishing.crowd_setup import bind, check_balance, check_endpoint, prepare
from annotation.protocol.estimates.cost import estimate_cost, tie_assignments
from core.errors import UserError
from core.files.bulk_insert import insert_alike
from core.text.money import money

BATCH = 10_000


@dataclass(frozen=True)
class Published:
    """Messages written now, HITs that the budget leaves out, and those beyond the first batch."""

    new: int
    left_out: int
    held_back: int


def publish(
    campaign: Campaign,
    crowd: Crowd,
    *,
    most: int | None = None,
) -> Published:
    """One message for each HIT that has none, as far as the budget reaches. Safe to repeat.

    `most`: of the first round so many HITs in all; no pass asks for more of them until this is
    called again. None: all of them, now or by a later pass.
    """
    prepare_publication(campaign, crowd, most=most)
    return write_messages(campaign, most=most)


def prepare_publication(campaign: Campaign, crowd: Crowd, *, most: int | None = None) -> None:
    """All that asks the crowd; UserError where the campaign cannot be published there."""
    if most is not None and most < 1:
        raise UserError(f"A first batch has at least one HIT, not {most}.")
    if not campaign.hits.exists():
        raise UserError(
            f"Campaign {campaign} has no HITs: run `quorum campaign pack {campaign}` first."
        )
    check_endpoint(campaign, crowd)
    _check_state(campaign)
    _check_budget(campaign)
    check_balance(campaign, crowd, hits=affordable_hits(campaign, most))
    # Only now: an address at which nobody answers, or nobody can pay, must not bind.
    bind(campaign, crowd)
    prepare(campaign, crowd)


@transaction.atomic
def write_messages(campaign: Campaign, *, most: int | None = None) -> Published:
    return _write_down(locked(campaign), most)


def _write_down(campaign: Campaign, most: int | None) -> Published:
    _check_state(campaign)
    campaign.first_batch = _first_batch(campaign, most)
    campaign.save(update_fields=["first_batch"])
    new = ask_for_affordable(campaign)
    retry_failed(campaign)
    rest = left_out(campaign)
    set_capped(campaign, rest > 0)
    return Published(new, rest, held_back(campaign))


def _first_batch(campaign: Campaign, most: int | None) -> int | None:
    """No fewer than are asked for already; None where nothing is beyond it."""
    if most is None:
        return None
    hits = _first_round(campaign).count()
    asked = hits - _without_message(campaign).count()
    batch = max(most, asked)
    return batch if batch < hits else None


def ask_for_affordable(campaign: Campaign) -> int:
    """Messages for the HITs of the first round that the budget reaches; with the campaign locked.

    Not beyond its first batch, where it has one.
    """
    # Found once: to look for them among all HITs takes long.
    reached = affordable_hits(campaign, campaign.first_batch)
    new = list(_without_message(campaign).values_list("pk", "key", "max_assignments")[:reached])
    for some in in_parts(new, BATCH):
        _ask_for(campaign, some)
    return len(new)


def left_out(campaign: Campaign) -> int:
    """HITs that are to be asked for and that the budget does not reach."""
    return _wanted(campaign, campaign.first_batch)


def held_back(campaign: Campaign) -> int:
    """HITs beyond the first batch, for which nobody asks yet."""
    if campaign.first_batch is None:
        return 0
    return max(0, _first_round(campaign).count() - campaign.first_batch)


def _wanted(campaign: Campaign, most: int | None) -> int:
    """HITs that nobody has asked for and that somebody is to, with `most` in all."""
    unasked = _without_message(campaign).count()
    if most is None or not unasked:
        return unasked
    asked = _first_round(campaign).count() - unasked
    return min(unasked, max(0, most - asked))


def _first_round(campaign: Campaign) -> QuerySet[Hit]:
    return campaign.hits.filter(repack=False)


def _check_state(campaign: Campaign) -> None:
    if campaign.state in (Campaign.State.PAUSED, Campaign.State.CANCELLED):
        todo = (
            f"run `quorum campaign resume {campaign}` first"
            if campaign.state == Campaign.State.PAUSED
            else "you cannot undo this, create another campaign"
        )
        raise UserError(f"Campaign {campaign} is {campaign.state}: {todo}.")


def _check_budget(campaign: Campaign) -> None:
    policy = campaign.policy
    if not first_round_cents(policy) or account_of(campaign).budget_cents:
        return
    if not _without_message(campaign).exists():
        return
    likely = estimate_cost(campaign.triplets.count(), policy)
    mode = likely.extend if policy.tie_mode == "extend" else likely.repack
    raise UserError(
        f"Campaign {campaign} has no budget yet: set what it may cost at most by `quorum "
        f"campaign budget {campaign} AMOUNT` (about {money(mode.cents)} without "
        f"replacements, {money(likely.cents_max)} if every HIT needs all votes)."
    )


def _without_message(campaign: Campaign) -> QuerySet[Hit]:
    """HITs of the first round that nobody has asked the crowd for."""
    hits = _first_round(campaign).filter(crowd_id=None)
    return hits.exclude(outbox__kind=OutboxMessage.Kind.CREATE).order_by("number")


def affordable_hits(campaign: Campaign, most: int | None) -> int:
    """HITs of the first round to be asked for, with `most` in all, that the budget reaches."""
    wanted = _wanted(campaign, most)
    return within(account_of(campaign), wanted, cents=first_round_cents(campaign.policy))


def _ask_for(campaign: Campaign, hits: Sequence[tuple[int, str, int]]) -> None:
    """The messages, the money they may cost and the reserve for ties: in one transaction.

    `hits`: primary key, key, assignments.
    """
    tie_break = tie_assignments(campaign.policy)
    keys = [hit for hit, *_ in hits]
    if tie_break:
        Hit.objects.filter(pk__in=keys).update(tie_reserve=tie_break)
    kind = OutboxMessage.Kind.CREATE
    insert_alike(
        OutboxMessage(campaign=campaign, kind=kind),
        ["token", "hit_id", "new_assignments"],
        ((create_token(key), hit, assignments) for hit, key, assignments in hits),
    )
    messages = campaign.outbox.filter(kind=kind, hit__in=keys).order_by("pk")
    reserve_from_query(messages, assignments=F("new_assignments") + tie_break)


def set_capped(campaign: Campaign, capped: bool) -> None:
    """At its cap a campaign pauses by itself, and goes on by itself when there is room again."""
    states = Campaign.State.ACTIVE, Campaign.State.CAPPED
    if campaign.state in states:
        campaign.state = states[capped]
        campaign.save(update_fields=["state"])
