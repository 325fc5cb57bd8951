"""`manage.py campaign`: its budget, and pause, resume, expire, extend, cancel, retry."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation.management.steps import (
    Options,
    Result,
    Step,
    calls_wait,
    confirm,
    crowd_of,
    send,
    yes_argument,
)
from annotation.models import Campaign
from annotation.pipeline import lifecycle
from annotation.pipeline.claims import waiting
from annotation.pipeline.forecast import Outlook, Prolonging, outlook, prolongations, prolonging
from annotation.pipeline.ledger import OverBudget, account_of, set_budget
from annotation.pipeline.money import cents_of, clause, dollars
from annotation.pipeline.publish import retry_failed
from annotation.pipeline.standing import standing
from annotation.protocol.cost import is_free
from retrieval.cli import QuorumCommand
from retrieval.errors import UserError

State = Campaign.State


def _budget(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    before = account_of(campaign)
    # What was handed in may still have to be paid.
    if campaign.state == State.CANCELLED and not outlook(campaign).undecided:
        lifecycle.check_living(campaign)
    try:
        set_budget(campaign, cents_of(options["dollars"]))
    except OverBudget as error:
        needed = before.spent_cents + before.reserved_cents
        raise UserError(
            f"Campaign {campaign} has spent {dollars(before.spent_cents)} and reserved "
            f"{dollars(before.reserved_cents)}: its budget cannot be less than {dollars(needed)}."
        ) from error
    account = account_of(campaign)
    return {
        "campaign": campaign.name,
        "budget_cents": account.budget_cents,
        "reserved_cents": account.reserved_cents,
        "spent_cents": account.spent_cents,
        "available_cents": account.available_cents,
        "standing": standing(campaign),
    }


def _pause(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    def words(now: Outlook) -> list[str]:
        may_cost = now.open_cents + now.undecided_cents
        return [
            f"Nothing more is bought for {campaign}: {now.waiting_hits:,} HITs and "
            f"{now.waiting_places:,} further places that are planned wait"
            f"{clause(', with {} reserved for them', now.waiting_cents)}"
            f"{_left_out(campaign, now)}.",
            f"What is at the crowd goes on: {now.open_places:,} open places and "
            f"{now.undecided:,} submissions without a decision"
            f"{clause(' may still cost {}', may_cost)}.",
            f"{now.open_triplets:,} triplets have no label yet; those that need more votes wait "
            f"for `manage.py campaign resume {campaign}`.",
        ]

    lifecycle.check_living(campaign)
    if campaign.state == State.PAUSED:
        raise UserError(f"Campaign {campaign} is paused already.")
    return _turn(command, campaign, options, words, lifecycle.pause)


def _resume(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    def words(now: Outlook) -> list[str]:
        words = [
            f"Buying goes on for {campaign} with the next pass: {now.waiting_hits:,} HITs and "
            f"{now.waiting_places:,} further places that are planned"
            f"{clause(', at {} reserved already', now.waiting_cents)}{_left_out(campaign, now)}.",
        ]
        if not is_free(campaign.policy):
            words.append(
                f"What is not asked for yet may cost up to {dollars(now.available_cents)} more, "
                "which the budget has left."
            )
        return words

    lifecycle.check_living(campaign)
    if campaign.state != State.PAUSED:
        raise UserError(f"Campaign {campaign} is not paused.")
    return _turn(command, campaign, options, words, lifecycle.resume)


def _left_out(campaign: Campaign, now: Outlook) -> str:
    if not now.left_out_hits:
        return ""
    if not campaign.endpoint:
        return f"; {now.left_out_hits:,} more HITs are not published yet"
    return f"; the budget leaves out {now.left_out_hits:,} more HITs so far"


def _turn(
    command: QuorumCommand,
    campaign: Campaign,
    options: Options,
    words: Callable[[Outlook], list[str]],
    act: Callable[[Campaign], None],
) -> Result:
    """Buying on or off: no call to the crowd is needed for it."""
    seen = outlook(campaign)
    confirm(command, words(seen), yes=options["yes"])
    act(campaign)
    return {"campaign": campaign.name, **asdict(seen), "standing": standing(campaign)}


def _expire(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    if not lifecycle.to_end(campaign, timezone.now()).exists():
        raise UserError(f"No HIT of {campaign} is open to expire{_still_waiting(campaign)}.")
    crowd, seen = crowd_of(campaign), outlook(campaign)
    confirm(command, _ending(campaign, seen), yes=options["yes"])
    hits = lifecycle.expire(campaign, timezone.now())
    return _result(campaign, seen, {"expired_hits": hits, **send(command, campaign, crowd)})


def _still_waiting(campaign: Campaign) -> str:
    left = waiting(campaign)
    return f"; {calls_wait(left)} for the next pass" if left else ""


def _ending(campaign: Campaign, now: Outlook) -> list[str]:
    words = [
        f"Nobody can take the {now.open_hits:,} HITs of {campaign} that have "
        f"{now.open_places:,} open places any more; who is at work on one may still hand in"
        f"{_and_is_paid(campaign)}.",
        f"{now.open_triplets:,} triplets have no label yet; those of these HITs wait for "
        f"`manage.py campaign extend {campaign} --days N`.",
    ]
    if free := now.open_cents + now.spare_cents:
        words.append(
            f"Up to {dollars(free)} of what is reserved is free again when nobody is at work."
        )
    if now.waiting_hits:
        words.append(
            f"{now.waiting_hits:,} HITs are not published yet and stay planned: to hold them, "
            f"run `manage.py campaign pause {campaign}` first."
        )
    return words


def _and_is_paid(campaign: Campaign) -> str:
    return "" if is_free(campaign.policy) else " and is paid"


def _extend(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    lifecycle.check_prolongable(campaign)
    crowd, days = crowd_of(campaign), options["days"]
    until = lifecycle.end_of(days, timezone.now())
    seen = prolonging(*prolongations(campaign, until))
    confirm(command, _prolonging(campaign, until, seen), yes=options["yes"])
    done = lifecycle.prolong(campaign, days=days, now=timezone.now())
    return {"campaign": campaign.name, **asdict(done), **send(command, campaign, crowd)}


def _prolonging(campaign: Campaign, until: datetime, seen: Prolonging) -> list[str]:
    words = [
        f"{seen.hits:,} HITs of {campaign} that lack votes and end earlier can be taken until "
        f"{until:%Y-%m-%d %H:%M} UTC.",
    ]
    if seen.places:
        words.append(
            f"For {seen.places:,} places of HITs that were over, {dollars(seen.cents)} is "
            "reserved again."
        )
    if seen.left_out:
        words.append(
            f"The budget leaves out {seen.left_out:,} HITs, which cost "
            f"{dollars(seen.left_out_cents)}: raise it by `manage.py campaign budget`, then "
            "extend again."
        )
    return words


def _cancel(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    if campaign.state == State.CANCELLED:
        raise UserError(f"Campaign {campaign} is cancelled already{_still_waiting(campaign)}.")
    crowd, seen = crowd_of(campaign), outlook(campaign)
    confirm(command, _cancelling(campaign, seen), yes=options["yes"])
    lifecycle.cancel(campaign, timezone.now())
    return _result(campaign, seen, send(command, campaign, crowd))


def _cancelling(campaign: Campaign, now: Outlook) -> list[str]:
    free = now.open_cents + now.spare_cents
    return [
        f"Cancelling {campaign} is for good.",
        f"{now.waiting_hits:,} HITs and {now.waiting_places:,} further places that are planned "
        f"are given up{clause(', and {} is free again', now.waiting_cents)}.",
        f"{now.open_hits:,} HITs with {now.open_places:,} open places expire: who is at work may "
        f"still hand in{_and_is_paid(campaign)}"
        f"{clause('; the rest of {} is free again', free)}.",
        f"{now.undecided:,} submissions without a decision are still reviewed"
        f"{clause(' and may cost {}', now.undecided_cents)}.",
        f"{now.open_triplets:,} triplets have no label, and those that need more votes never get "
        "one.",
    ]


def _retry(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    crowd = crowd_of(campaign)
    again = retry_failed(campaign)
    return {"campaign": campaign.name, "refused_before": again, **send(command, campaign, crowd)}


def _result(campaign: Campaign, seen: Outlook, sent: Result) -> Result:
    """What was found before, what was done, and how the campaign stands now."""
    return {"campaign": campaign.name, **asdict(seen), **sent, "standing": standing(campaign)}


def _dollars_argument(parser: CommandParser) -> None:
    parser.add_argument("dollars", metavar="DOLLARS", help="what it may cost at most, in all")


def _days_argument(parser: CommandParser) -> None:
    parser.add_argument("--days", type=int, required=True, metavar="N", help="from now on")
    yes_argument(parser)


STEPS = {
    "budget": Step(
        "set what the campaign may cost at most; raised, one at its budget buys on by itself "
        "with the next pass",
        _budget,
        _dollars_argument,
    ),
    "pause": Step("buy nothing more; what is at the crowd goes on", _pause, yes_argument),
    "resume": Step("buy on", _resume, yes_argument),
    "expire": Step("let nobody take a HIT any more", _expire, yes_argument),
    "extend": Step("give HITs that lack votes more time", _extend, _days_argument),
    "cancel": Step("end the campaign for good", _cancel, yes_argument),
    "retry": Step("make the calls again that were refused or wait for their turn", _retry),
}
