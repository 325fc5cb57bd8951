"""A single worker shut out, taken back, written to, or let in without practice."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial

from annotation.access.roles import MANAGE_WORKERS
from annotation.analytics.workers.what_if import if_excluded, if_restored
from annotation.crowd.inhouse.members import is_member, member_called
from annotation.crowd.worker_notices import FAREWELL
from annotation.models import Campaign
from annotation.operations.campaign.operation import Act, Field, Options, Result
from annotation.pipeline.ledger.dollars import clause
from annotation.pipeline.moderation import qualification as practice
from annotation.pipeline.moderation.exclusion import exclude, foresee, restore
from annotation.pipeline.moderation.message import foresee_message, write_to
from core.errors import UserError

WORKER = Field(
    "worker",
    "worker",
    "Worker",
    "as the crowd names them; in-house the user name will do",
)
FAREWELL_REASON = Field(
    "reason", "text", "Reason", "what the worker reads who asks why", default=FAREWELL
)
TEXT = Field("text", "text", "Message", "what the worker reads")


def worker_of(campaign: Campaign, name: str) -> str:
    """The worker's id at the crowd: one's own people are better known by their user names."""
    if campaign.policy.crowd != "inhouse" or is_member(name):
        return name  # an id comes first: who joins may take another member's for a user name
    found = member_called(name)
    return found.worker_id if found else name


def _foresee_exclude(campaign: Campaign, options: Options) -> list[str]:
    seen = if_excluded(campaign, worker_of(campaign, options["worker"]))
    words = [
        f"{seen.worker} takes no further part in {campaign}: {seen.votes:,} votes no "
        f"longer count{clause(', and {} that was paid for them is lost', seen.cents)}.",
        f"{seen.labels_changed:,} labels change, {seen.triplets_reopened:,} of them are "
        "open again: the next pass buys the missing votes as far as the budget reaches.",
    ]
    if seen.votes_to_buy:
        words.append(
            f"{seen.votes_to_buy:,} votes are missing then: at most "
            f"{seen.assignments_to_buy:,} more assignments"
            f"{clause(', for {}', seen.buy_cents)}."
        )
    return words


def _exclude(campaign: Campaign, options: Options) -> Result:
    worker = worker_of(campaign, options["worker"])
    return asdict(exclude(campaign, worker, reason=options["reason"]))


def _foresee_restore(campaign: Campaign, options: Options) -> list[str]:
    seen = if_restored(campaign, worker_of(campaign, options["worker"]))
    return [
        f"{seen.worker} may work in {campaign} again: {seen.votes:,} votes count again"
        f"{clause(', and {} was not paid in vain', seen.cents)}.",
        f"{seen.labels_changed:,} labels change; the votes that were bought in place of "
        "these stay.",
    ]


def _restore(campaign: Campaign, options: Options) -> Result:
    return asdict(restore(campaign, worker_of(campaign, options["worker"])))


def _foresee_message(campaign: Campaign, options: Options) -> list[str]:
    worker = worker_of(campaign, options["worker"])
    message = foresee_message(campaign, worker, text=options["text"])
    if not message.new:
        return [f"{message.worker} has been sent these words already: they are not sent twice."]
    where = (
        "on their work page"
        if campaign.policy.crowd == "inhouse"
        else "by the crowd's mail, which cannot be called back"
    )
    return [f"{message.worker} reads this {where}."]


def _message(campaign: Campaign, options: Options) -> Result:
    worker = worker_of(campaign, options["worker"])
    message = write_to(campaign, worker, text=options["text"])
    return {"worker": message.worker, "new": message.new}


def _admitting(campaign: Campaign, options: Options) -> Callable[[], None]:
    worker = worker_of(campaign, options["worker"])
    if campaign.policy.crowd == "inhouse" and not is_member(worker):
        raise UserError(f"The team has no member {worker!r}: see the page of the team.")
    return partial(practice.admit, campaign, worker)


def _foresee_admit(campaign: Campaign, options: Options) -> list[str]:
    foresee(_admitting(campaign, options))
    worker = worker_of(campaign, options["worker"])
    return [f"{worker} may work in {campaign} without having passed the practice round."]


def _admit(campaign: Campaign, options: Options) -> Result:
    _admitting(campaign, options)()
    return {"worker": worker_of(campaign, options["worker"])}


ACTS = (
    Act(
        "exclude",
        "shut a worker out by hand",
        MANAGE_WORKERS,
        _foresee_exclude,
        _exclude,
        (WORKER, FAREWELL_REASON),
        subject="worker",
        spends=True,
    ),
    Act(
        "restore",
        "take an excluded worker back, votes and all",
        MANAGE_WORKERS,
        _foresee_restore,
        _restore,
        (WORKER,),
        subject="worker",
    ),
    Act(
        "message",
        "write to a worker",
        MANAGE_WORKERS,
        _foresee_message,
        _message,
        (WORKER, TEXT),
        subject="worker",
    ),
    Act(
        "admit",
        "let a worker in who has not passed the practice round",
        MANAGE_WORKERS,
        _foresee_admit,
        _admit,
        (WORKER,),
        subject="worker",
    ),
)
