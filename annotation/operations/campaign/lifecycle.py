"""How long HITs can be taken: their end, more time, and a campaign's end for good."""

from dataclasses import asdict
from datetime import datetime

from django.utils import timezone

from annotation.access.roles import FUND, RUN
from annotation.models import Campaign
from annotation.operations.campaign.cached_outlook import (
    KnownProlonging,
    known_outlook,
    known_prolonging,
    status_of,
)
from annotation.operations.campaign.retry import messages_wait
from annotation.operations.operation import Argument, Operation, Options, Result
from annotation.pipeline.ledger.reservations import account_of
from annotation.pipeline.outbox.claims import waiting
from annotation.pipeline.publishing import lifecycle
from annotation.pipeline.publishing.outlook import prolongations, prolonging
from annotation.protocol.estimates.cost import is_free
from core.errors import UserError
from core.text.money import clause, money


def _preview_expire(campaign: Campaign, options: Options) -> list[str]:
    known = known_outlook(campaign)
    now = known.outlook
    # What was counted a while ago may have ended since.
    counted = known.at is not None and now.open_hits
    if not counted and not lifecycle.to_end(campaign, timezone.now()).exists():
        raise UserError(f"No HIT of {campaign} is open to expire{_still_waiting(campaign)}.")
    words = [
        f"Nobody can take the {now.open_hits:,} HITs of {campaign} that have "
        f"{now.open_assignments:,} open assignments any more. An annotator who has started one "
        f"can still submit it{_and_is_paid(campaign)}.",
        f"{now.open_triplets:,} triplets have no label yet; those of these HITs wait until the "
        "campaign is extended.",
    ]
    if free := now.open_cents + now.tie_break_cents:
        words.append(
            f"Up to {money(free)} of what is reserved is free again when nobody is at work."
        )
    if now.waiting_hits:
        words.append(
            f"{now.waiting_hits:,} HITs are not published yet and stay planned: to hold them, "
            "pause the campaign first."
        )
    return [*words, *known.note]


def _execute_expire(campaign: Campaign, options: Options) -> Result:
    _preview_expire(campaign, options)
    seen = known_outlook(campaign)
    hits = lifecycle.expire(campaign, timezone.now())
    return {**seen.facts, "expired_hits": hits, "status": status_of(campaign)}


def _still_waiting(campaign: Campaign) -> str:
    left = waiting(campaign)
    return f"; {messages_wait(left)} for the next pass" if left else ""


def _and_is_paid(campaign: Campaign) -> str:
    return "" if is_free(campaign.policy) else " and is paid"


def _preview_extend(campaign: Campaign, options: Options) -> list[str]:
    lifecycle.check_prolongable(campaign)
    until = lifecycle.end_of(options["days"], timezone.now())
    counted = known_prolonging(campaign)
    if counted is not None:
        return _at_most_extended(campaign, counted, until)
    seen = prolonging(*prolongations(campaign, until))
    words = [
        f"{seen.hits:,} HITs of {campaign} that lack votes and end earlier can be taken until "
        f"{until:%Y-%m-%d %H:%M} UTC.",
    ]
    if seen.assignments:
        words.append(
            f"For {seen.assignments:,} assignments of HITs that were over, {money(seen.cents)} "
            "is reserved again."
        )
    if seen.left_out:
        words.append(
            f"The budget leaves out {seen.left_out:,} HITs, which cost "
            f"{money(seen.left_out_cents)}: raise it, then extend again."
        )
    return words


def _at_most_extended(campaign: Campaign, counted: KnownProlonging, until: datetime) -> list[str]:
    seen = counted.prolonging
    words = [
        f"Up to {seen.hits:,} HITs of {campaign} lack votes: those that end earlier can be taken "
        f"until {until:%Y-%m-%d %H:%M} UTC.",
    ]
    if seen.assignments:
        left = money(account_of(campaign).available_cents)
        words.append(
            f"For up to {seen.assignments:,} assignments of HITs that were over, "
            f"{money(seen.cents)} is "
            f"reserved again; the budget has {left} left, and leaves out what that does not reach."
        )
    return [*words, counted.note]


def _execute_extend(campaign: Campaign, options: Options) -> Result:
    return asdict(lifecycle.prolong(campaign, days=options["days"], now=timezone.now()))


def _preview_cancel(campaign: Campaign, options: Options) -> list[str]:
    if campaign.state == Campaign.State.CANCELLED:
        raise UserError(f"Campaign {campaign} is cancelled already{_still_waiting(campaign)}.")
    known = known_outlook(campaign)
    now = known.outlook
    free = now.open_cents + now.tie_break_cents
    return [
        f"You cannot undo cancelling {campaign}.",
        f"{now.waiting_hits:,} HITs and {now.waiting_assignments:,} further assignments that are "
        f"planned are given up{clause(', and {} is free again', now.waiting_cents)}.",
        f"{now.open_hits:,} HITs with {now.open_assignments:,} open assignments expire. People at "
        f"work may still submit{_and_is_paid(campaign)}"
        f"{clause('; the rest of {} is free again', free)}.",
        f"{now.undecided:,} submissions without a decision are still reviewed"
        f"{clause(' and may cost {}', now.undecided_cents)}.",
        f"{now.open_triplets:,} triplets have no label, and those that need more votes never get "
        "one.",
        *known.note,
    ]


def _execute_cancel(campaign: Campaign, options: Options) -> Result:
    _preview_cancel(campaign, options)
    seen = known_outlook(campaign)
    lifecycle.cancel(campaign, timezone.now())
    return {**seen.facts, "status": status_of(campaign)}


OPERATIONS = (
    Operation(
        "expire",
        "close the campaign's HITs to new work",
        RUN,
        _preview_expire,
        _execute_expire,
    ),
    Operation(
        "extend",
        "keep HITs that lack votes open for longer",
        RUN,
        _preview_extend,
        _execute_extend,
        (Argument("days", "count", "Days", "days from today", maximum=lifecycle.LONGEST_DAYS),),
        spends=True,
    ),
    Operation(
        "cancel",
        "end the campaign permanently",
        FUND,
        _preview_cancel,
        _execute_cancel,
        irreversible=True,
        button="Cancel the campaign",
    ),
)
