"""A single assignment paid or refused by hand, and bonuses for it."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial

from django.utils import timezone

from annotation.access.roles import MANAGE_WORKERS
from annotation.models import Campaign
from annotation.operations.campaign.operation import Act, Field, Options, Result
from annotation.pipeline.ledger.dollars import cents_of, clause, dollars
from annotation.pipeline.moderation import decisions as by_hand
from annotation.pipeline.moderation.bonus import (
    check_covered,
    foresee_bonus,
    give_bonus,
    withdraw_bonus,
)
from annotation.pipeline.moderation.exclusion import foresee

ASSIGNMENT = Field("assignment", "assignment", "Assignment", "as the crowd names it")
DOLLARS = Field("dollars", "dollars", "Bonus", "for the worker; the fee of MTurk is added")
TOLD = Field("reason", "text", "Reason", "what the worker is told")


def _foresee_bonus(campaign: Campaign, options: Options) -> list[str]:
    cents = cents_of(options["dollars"])
    seen = foresee_bonus(campaign, options["assignment"], cents=cents, reason=options["reason"])
    check_covered(campaign, seen)
    again = "" if seen.new else " This bonus has been asked for before: nothing is paid twice."
    return [
        f"{seen.worker} gets {dollars(cents)} for assignment {options['assignment']}, which costs "
        f"{dollars(seen.cents)} in all.{again}"
    ]


def _bonus(campaign: Campaign, options: Options) -> Result:
    cents = cents_of(options["dollars"])
    given = give_bonus(campaign, options["assignment"], cents=cents, reason=options["reason"])
    return asdict(given)


def _withdrawing(campaign: Campaign, options: Options) -> Callable[[], int]:
    cents, assignment = cents_of(options["dollars"]), options["assignment"]
    return partial(withdraw_bonus, campaign, assignment, cents=cents, reason=options["reason"])


def _foresee_withdrawal(campaign: Campaign, options: Options) -> list[str]:
    free = foresee(_withdrawing(campaign, options))
    return [
        f"The bonus for assignment {options['assignment']}, which the crowd has refused, is given "
        f"up: {dollars(free)} is free again."
    ]


def _withdraw_bonus(campaign: Campaign, options: Options) -> Result:
    free = _withdrawing(campaign, options)()
    return {"assignment": options["assignment"], "free_cents": free}


def _foresee_approve(campaign: Campaign, options: Options) -> list[str]:
    seen = by_hand.foresee_approval(campaign, options["assignment"], now=timezone.now())
    by_hand.check_covered(campaign, seen)
    words = [_payment(seen)]
    if seen.passed:
        words.append(f"Its {seen.votes:,} votes count again, unless {seen.worker} is excluded.")
    else:
        words.append(
            "It missed controls, and that stays: its votes do not count, and it goes on counting "
            "as failed for the rule that excludes workers."
        )
    return words


def _payment(seen: by_hand.Decision) -> str:
    work = f"Assignment {seen.assignment} of {seen.worker}"
    if seen.kind == "approve":
        return (
            f"{work} is approved in place of its rejection, which the crowd was not told of yet"
            f"{clause('; it costs {}', seen.cents)}. An approval is final."
        )
    until = f", which MTurk allows until {seen.until:%Y-%m-%d %H:%M} UTC" if seen.until else ""
    return (
        f"{work} is approved after all: its rejection is overturned{until}"
        f"{clause('; it costs {}', seen.cents)}. An approval is final."
    )


def _approve(campaign: Campaign, options: Options) -> Result:
    done = by_hand.approve_by_hand(campaign, options["assignment"], now=timezone.now())
    return _told(done)


def _foresee_reject(campaign: Campaign, options: Options) -> list[str]:
    assignment, reason = options["assignment"], options["reason"]
    seen = by_hand.foresee_rejection(campaign, assignment, reason=reason)
    return [
        f"Assignment {seen.assignment} of {seen.worker} is rejected and not paid"
        f"{clause('; {} is free again', seen.cents)}. A rejection hurts a worker's standing at "
        "the crowd.",
        f"{seen.votes:,} votes no longer count, and the next passes buy them again. What the "
        "review found of its controls stays: the rejection does not count towards the rule that "
        "excludes workers.",
    ]


def _reject(campaign: Campaign, options: Options) -> Result:
    assignment, reason = options["assignment"], options["reason"]
    return _told(by_hand.reject_by_hand(campaign, assignment, reason=reason))


def _told(done: by_hand.Decision) -> Result:
    return {
        "worker": done.worker,
        "assignment": done.assignment,
        "decision": done.kind,
        "cents": done.cents,
        "votes": done.votes,
    }


ACTS = (
    Act(
        "approve",
        "pay for an assignment that was or is going to be rejected",
        MANAGE_WORKERS,
        _foresee_approve,
        _approve,
        (ASSIGNMENT,),
        subject="assignment",
        spends=True,
    ),
    Act(
        "reject",
        "refuse an assignment whose approval the crowd has not been told of",
        MANAGE_WORKERS,
        _foresee_reject,
        _reject,
        (ASSIGNMENT, TOLD),
        subject="assignment",
        spends=True,
    ),
    Act(
        "bonus",
        "pay a worker extra for an assignment",
        MANAGE_WORKERS,
        _foresee_bonus,
        _bonus,
        (ASSIGNMENT, DOLLARS, TOLD),
        subject="assignment",
        spends=True,
    ),
    Act(
        "withdraw-bonus",
        "take a bonus back that the crowd has refused",
        MANAGE_WORKERS,
        _foresee_withdrawal,
        _withdraw_bonus,
        (ASSIGNMENT, DOLLARS, TOLD),
        subject="assignment",
        calls=False,
    ),
)
