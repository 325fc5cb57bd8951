"""`manage.py campaign`: a single worker shut out, taken back, or paid extra."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial

from django.core.management.base import CommandParser

from annotation.exclusion_words import FAREWELL
from annotation.management.steps import (
    Options,
    Result,
    Step,
    confirm,
    crowd_of,
    send,
    worker_of,
    yes_argument,
)
from annotation.models import Campaign
from annotation.pipeline.bonus import check_covered, foresee_bonus, give_bonus, withdraw_bonus
from annotation.pipeline.money import cents_of, clause, dollars
from annotation.pipeline.restore import Change, exclude, foresee, restore
from retrieval.cli import QuorumCommand


def _exclude(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    def words(change: Change) -> list[str]:
        return [
            f"{change.worker} takes no further part in {campaign}: {change.votes:,} votes no "
            f"longer count{clause(', and {} that was paid for them is lost', change.cents)}.",
            f"{change.labels_changed:,} labels change, {change.triplets_reopened:,} of them are "
            "open again: the next pass buys the missing votes as far as the budget reaches.",
        ]

    act = partial(
        exclude, campaign, worker_of(campaign, options["worker"]), reason=options["reason"]
    )
    return _change(command, campaign, options, act, words)


def _restore(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    def words(change: Change) -> list[str]:
        return [
            f"{change.worker} may work in {campaign} again: {change.votes:,} votes count again"
            f"{clause(', and {} was not paid in vain', change.cents)}.",
            f"{change.labels_changed:,} labels change; the votes that were bought in place of "
            "these stay.",
        ]

    act = partial(restore, campaign, worker_of(campaign, options["worker"]))
    return _change(command, campaign, options, act, words)


def _change(
    command: QuorumCommand,
    campaign: Campaign,
    options: Options,
    act: Callable[[], Change],
    words: Callable[[Change], list[str]],
) -> Result:
    crowd = crowd_of(campaign)
    confirm(command, words(foresee(act)), yes=options["yes"])
    return {"campaign": campaign.name, **asdict(act()), **send(command, campaign, crowd)}


def _bonus(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    crowd = crowd_of(campaign)
    assignment, reason = options["assignment"], options["reason"]
    cents = cents_of(options["dollars"])
    if options["withdraw"]:
        free = withdraw_bonus(campaign, assignment, cents=cents, reason=reason)
        return {"campaign": campaign.name, "assignment": assignment, "free_cents": free}
    seen = foresee_bonus(campaign, assignment, cents=cents, reason=reason)
    check_covered(campaign, seen)
    again = "" if seen.new else " This bonus has been asked for before: nothing is paid twice."
    sentence = (
        f"{seen.worker} gets {dollars(cents)} for assignment {assignment}, which costs "
        f"{dollars(seen.cents)} in all.{again}"
    )
    confirm(command, [sentence], yes=options["yes"])
    given = give_bonus(campaign, assignment, cents=cents, reason=reason)
    return {"campaign": campaign.name, **asdict(given), **send(command, campaign, crowd)}


def _worker_argument(parser: CommandParser) -> None:
    parser.add_argument(
        "worker", metavar="WORKER", help="as the crowd names them; in-house the user name will do"
    )
    yes_argument(parser)


def _exclude_arguments(parser: CommandParser) -> None:
    _worker_argument(parser)
    parser.add_argument(
        "--reason", default=FAREWELL, metavar="TEXT", help="what the worker reads who asks why"
    )


def _bonus_arguments(parser: CommandParser) -> None:
    parser.add_argument("assignment", metavar="ASSIGNMENT", help="as the crowd names it")
    parser.add_argument(
        "dollars", metavar="DOLLARS", help="for the worker; the fee of MTurk is added"
    )
    parser.add_argument("--reason", required=True, metavar="TEXT", help="what the worker is told")
    parser.add_argument(
        "--withdraw", action="store_true", help="take it back, where the crowd has refused it"
    )
    yes_argument(parser)


STEPS = {
    "exclude": Step("shut a worker out by hand", _exclude, _exclude_arguments),
    "restore": Step("take an excluded worker back, votes and all", _restore, _worker_argument),
    "bonus": Step("pay a worker extra for an assignment", _bonus, _bonus_arguments),
}
