"""A single assignment paid or refused by hand, and bonuses for it."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial

from django.utils import timezone

from annotation.access.roles import MANAGE_WORKERS
from annotation.models import Campaign
from annotation.operations.campaign.worker_names import name_of, worker_result
from annotation.operations.operation import Argument, Operation, Options, Result
from annotation.pipeline.manual import decisions
from annotation.pipeline.manual.bonus import (
    check_covered,
    give_bonus,
    preview_bonus,
    withdraw_bonus,
)
from annotation.pipeline.manual.exclusion import preview
from annotation.protocol.policy.crowds import CrowdTraits
from core.text.money import cents_of, clause, money

ASSIGNMENT = Argument("assignment", "assignment", "Assignment", "its ID at the crowd")
AMOUNT = Argument("amount", "money", "Bonus", "paid to the worker; the crowd's fee is extra")
REASON = Argument("reason", "text", "Reason", "shown to the worker")


def _preview_bonus(campaign: Campaign, options: Options) -> list[str]:
    cents = cents_of(options["amount"])
    seen = preview_bonus(campaign, options["assignment"], cents=cents, reason=options["reason"])
    check_covered(campaign, seen)
    again = "" if seen.new else " This bonus has been asked for before: nothing is paid twice."
    return [
        f"{name_of(campaign, seen.worker)} gets {money(cents)} for assignment "
        f"{options['assignment']}, which costs {money(seen.cents)} in all.{again}"
    ]


def _execute_bonus(campaign: Campaign, options: Options) -> Result:
    cents = cents_of(options["amount"])
    given = give_bonus(campaign, options["assignment"], cents=cents, reason=options["reason"])
    return worker_result(campaign, given.worker, asdict(given))


def _cancellation(campaign: Campaign, options: Options) -> Callable[[], int]:
    cents, assignment = cents_of(options["amount"]), options["assignment"]
    return partial(withdraw_bonus, campaign, assignment, cents=cents, reason=options["reason"])


def _preview_cancel_bonus(campaign: Campaign, options: Options) -> list[str]:
    free = preview(_cancellation(campaign, options))
    return [
        f"The bonus for assignment {options['assignment']}, which the crowd has refused, is given "
        f"up: {money(free)} is free again."
    ]


def _execute_cancel_bonus(campaign: Campaign, options: Options) -> Result:
    free = _cancellation(campaign, options)()
    return {"assignment": options["assignment"], "free_cents": free}


def _preview_approve(campaign: Campaign, options: Options) -> list[str]:
    seen = decisions.preview_approval(campaign, options["assignment"], now=timezone.now())
    decisions.check_covered(campaign, seen)
    worker = name_of(campaign, seen.worker)
    words = [_payment(seen, worker, campaign.policy.crowd_traits)]
    if seen.passed:
        words.append(f"Its {seen.votes:,} votes count again, unless {worker} is excluded.")
    else:
        words.append(
            "It still counts as failed: its votes do not count, and the rule that excludes "
            "workers includes it."
        )
    return words


def _payment(seen: decisions.Decision, worker: str, crowd: CrowdTraits) -> str:
    assignment = f"Assignment {seen.assignment} of {worker}"
    if seen.kind == "approve":
        return (
            f"{assignment} is approved in place of its rejection, which has not "
            f"reached the crowd{clause('; it costs {}', seen.cents)}. An approval is final."
        )
    until = ""
    if seen.until:
        until = f", which {crowd.title} allows until {seen.until:%Y-%m-%d %H:%M} UTC"
    return (
        f"{assignment} is approved after all: its rejection is overturned{until}"
        f"{clause('; it costs {}', seen.cents)}. An approval is final."
    )


def _execute_approve(campaign: Campaign, options: Options) -> Result:
    done = decisions.approve_manually(campaign, options["assignment"], now=timezone.now())
    return _report(campaign, done)


def _preview_reject(campaign: Campaign, options: Options) -> list[str]:
    assignment, reason = options["assignment"], options["reason"]
    seen = decisions.preview_rejection(campaign, assignment, reason=reason)
    crowd = campaign.policy.crowd_traits
    return [
        f"Assignment {seen.assignment} of {name_of(campaign, seen.worker)} is rejected and not "
        f"paid{clause('; {} is free again', seen.cents)}. A rejection lowers a worker's approval "
        f"rate at the crowd. You can overturn it {crowd.reverses}.",
        f"{seen.votes:,} votes no longer count, and the next passes request them again. The "
        "review of its controls does not change: the rejection does not count towards the rule "
        "that excludes workers.",
    ]


def _execute_reject(campaign: Campaign, options: Options) -> Result:
    assignment, reason = options["assignment"], options["reason"]
    return _report(campaign, decisions.reject_manually(campaign, assignment, reason=reason))


def _report(campaign: Campaign, done: decisions.Decision) -> Result:
    return worker_result(
        campaign,
        done.worker,
        {
            "assignment": done.assignment,
            "decision": done.kind,
            "cents": done.cents,
            "votes": done.votes,
        },
    )


OPERATIONS = (
    Operation(
        "approve",
        "approve an assignment that was rejected, or is about to be",
        MANAGE_WORKERS,
        _preview_approve,
        _execute_approve,
        (ASSIGNMENT,),
        subject="assignment",
        spends=True,
    ),
    Operation(
        "reject",
        "reject an assignment whose approval has not reached the crowd yet",
        MANAGE_WORKERS,
        _preview_reject,
        _execute_reject,
        (ASSIGNMENT, REASON),
        subject="assignment",
        spends=True,
        harms=True,
    ),
    Operation(
        "bonus",
        "pay a worker a bonus for an assignment",
        MANAGE_WORKERS,
        _preview_bonus,
        _execute_bonus,
        (ASSIGNMENT, AMOUNT, REASON),
        subject="assignment",
        spends=True,
        title="Bonus for",
        button="Pay the bonus",
    ),
    Operation(
        "cancel-bonus",
        "cancel a bonus that the crowd has refused",
        MANAGE_WORKERS,
        _preview_cancel_bonus,
        _execute_cancel_bonus,
        (ASSIGNMENT, AMOUNT, REASON),
        subject="assignment",
        calls_crowd=False,
        title="Cancel the bonus for",
        button="Cancel the bonus",
    ),
)
