"""A single worker: exclude, restore, write to, grant the qualification."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial

from annotation.access.roles import MANAGE_WORKERS
from annotation.analytics.workers.exclusion_impact import if_excluded, if_restored
from annotation.crowd.inhouse.members import is_member
from annotation.crowd.worker_notices import FAREWELL
from annotation.models import Campaign, OutboxMessage
from annotation.operations.campaign.worker_names import name_of, worker_of, worker_result
from annotation.operations.operation import Argument, Operation, Options, Result
from annotation.pipeline.manual import qualification
from annotation.pipeline.manual.exclusion import exclude, preview, restore
from annotation.pipeline.manual.message import preview_message, write_to
from core.errors import UserError
from core.text.money import clause

WORKER = Argument(
    "worker",
    "worker",
    "Worker",
    "ID at the crowd; in-house the user name also works, and of a panel the participant's ID",
)
FAREWELL_REASON = Argument(
    "reason", "text", "Reason", "shown to the worker on request", default=FAREWELL
)
TEXT = Argument("text", "text", "Message", "shown to the worker")


def _preview_exclude(campaign: Campaign, options: Options) -> list[str]:
    seen = if_excluded(campaign, worker_of(campaign, options["worker"]))
    words = [
        f"{name_of(campaign, seen.worker)} takes no further part in {campaign}: {seen.votes:,} "
        f"votes no longer count{clause(', and {} that was paid for them is lost', seen.cents)}.",
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


def _execute_exclude(campaign: Campaign, options: Options) -> Result:
    worker = worker_of(campaign, options["worker"])
    change = exclude(campaign, worker, reason=options["reason"])
    return worker_result(campaign, worker, asdict(change))


def _preview_restore(campaign: Campaign, options: Options) -> list[str]:
    seen = if_restored(campaign, worker_of(campaign, options["worker"]))
    return [
        f"{name_of(campaign, seen.worker)} may work in {campaign} again: {seen.votes:,} votes "
        f"count again{clause(', and {} of work counts', seen.cents)}.",
        f"{seen.labels_changed:,} labels change; the votes that were bought in place of "
        "these stay.",
    ]


def _execute_restore(campaign: Campaign, options: Options) -> Result:
    worker = worker_of(campaign, options["worker"])
    return worker_result(campaign, worker, asdict(restore(campaign, worker)))


def _preview_message(campaign: Campaign, options: Options) -> list[str]:
    worker = worker_of(campaign, options["worker"])
    message = preview_message(campaign, worker, text=options["text"])
    name = name_of(campaign, worker)
    if not message.new:
        return [f"{name} has been sent these words already: they are not sent twice."]
    return [f"{name} reads this {campaign.policy.crowd_traits.message_place}."]


def _execute_message(campaign: Campaign, options: Options) -> Result:
    worker = worker_of(campaign, options["worker"])
    message = write_to(campaign, worker, text=options["text"])
    return worker_result(campaign, worker, {"new": message.new})


def _grant(campaign: Campaign, options: Options) -> Callable[[], None]:
    worker = worker_of(campaign, options["worker"])
    if campaign.policy.crowd_traits.has_accounts and not is_member(worker):
        raise UserError(f"The team has no member {worker!r}: see the page of the team.")
    return partial(qualification.grant_qualification, campaign, worker)


def _message_refused(campaign: Campaign, options: Options) -> str:
    refused = campaign.outbox.filter(
        kind=OutboxMessage.Kind.NOTIFY,
        worker__worker_id=worker_of(campaign, options["worker"]),
        reason=options["text"].strip(),
        state=OutboxMessage.State.CANCELLED,
    ).first()
    return f"The message was not sent: {refused.error}" if refused else ""


def _preview_grant(campaign: Campaign, options: Options) -> list[str]:
    preview(_grant(campaign, options))
    worker = worker_of(campaign, options["worker"])
    name = name_of(campaign, worker)
    return [f"{name} may work in {campaign} without having passed the qualification test."]


def _execute_grant(campaign: Campaign, options: Options) -> Result:
    _grant(campaign, options)()
    return worker_result(campaign, worker_of(campaign, options["worker"]), {})


def _grant_refused(campaign: Campaign, options: Options) -> str:
    worker = worker_of(campaign, options["worker"])
    why = qualification.withdraw_refused(campaign, worker)
    return f"{name_of(campaign, worker)} did not get the qualification: {why}" if why else ""


OPERATIONS = (
    Operation(
        "exclude",
        "exclude a worker and discard their votes",
        MANAGE_WORKERS,
        _preview_exclude,
        _execute_exclude,
        (WORKER, FAREWELL_REASON),
        subject="worker",
        spends=True,
        harms=True,
    ),
    Operation(
        "restore",
        "end a worker's exclusion and count their votes again",
        MANAGE_WORKERS,
        _preview_restore,
        _execute_restore,
        (WORKER,),
        subject="worker",
    ),
    Operation(
        "message",
        "send a message to a worker",
        MANAGE_WORKERS,
        _preview_message,
        _execute_message,
        (WORKER, TEXT),
        subject="worker",
        button="Send the message",
        refusal=_message_refused,
    ),
    Operation(
        "grant-qualification",
        "let a worker skip the qualification test",
        MANAGE_WORKERS,
        _preview_grant,
        _execute_grant,
        (WORKER,),
        subject="worker",
        confirms=False,
        title="Grant the qualification to",
        button="Grant the qualification",
        refusal=_grant_refused,
    ),
)
