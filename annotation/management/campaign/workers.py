"""`manage.py campaign`: a worker shut out, written to, or let in; an assignment decided on."""

from django.core.management.base import CommandParser

from annotation.management.campaign.base import (
    Options,
    Result,
    Step,
    carry_out,
    step_of,
    yes_argument,
)
from annotation.models import Campaign, OutboxMessage
from annotation.operations.campaign import assignments as works
from annotation.operations.campaign import workers as people
from annotation.pipeline.moderation.qualification import withdraw_refused
from core.command import QuorumCommand
from core.errors import UserError

_ACTS = {act.name: act for act in (*people.ACTS, *works.ACTS)}


def _bonus(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    name = "withdraw-bonus" if options["withdraw"] else "bonus"
    return carry_out(command, _ACTS[name], campaign, options)


def _message(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    told = carry_out(command, _ACTS["message"], campaign, options)
    refused = campaign.outbox.filter(
        kind=OutboxMessage.Kind.NOTIFY,
        worker__worker_id=told["worker"],
        reason=options["text"].strip(),
        state=OutboxMessage.State.WITHDRAWN,
    )
    if (message := refused.first()) is not None:
        raise UserError(f"The message was not sent: {message.error}")
    return told


def _admit(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
    told = carry_out(command, _ACTS["admit"], campaign, options)
    worker = str(told["worker"])
    if why := withdraw_refused(campaign, worker):
        raise UserError(f"{worker} was not let in: {why}")
    return told


def _one_worker(parser: CommandParser) -> None:
    parser.add_argument("worker", metavar="WORKER", help=people.WORKER.help)


def _worker_argument(parser: CommandParser) -> None:
    _one_worker(parser)
    yes_argument(parser)


def _exclude_arguments(parser: CommandParser) -> None:
    _worker_argument(parser)
    reason = people.FAREWELL_REASON
    parser.add_argument("--reason", default=reason.default, metavar="TEXT", help=reason.help)


def _message_arguments(parser: CommandParser) -> None:
    _worker_argument(parser)
    parser.add_argument("--text", required=True, metavar="TEXT", help=people.TEXT.help)


def _assignment_argument(parser: CommandParser) -> None:
    parser.add_argument("assignment", metavar="ASSIGNMENT", help=works.ASSIGNMENT.help)
    yes_argument(parser)


def _reject_arguments(parser: CommandParser) -> None:
    _assignment_argument(parser)
    parser.add_argument("--reason", required=True, metavar="TEXT", help=works.TOLD.help)


def _bonus_arguments(parser: CommandParser) -> None:
    parser.add_argument("assignment", metavar="ASSIGNMENT", help=works.ASSIGNMENT.help)
    parser.add_argument("dollars", metavar="DOLLARS", help=works.DOLLARS.help)
    parser.add_argument("--reason", required=True, metavar="TEXT", help=works.TOLD.help)
    parser.add_argument(
        "--withdraw", action="store_true", help="take it back, where the crowd has refused it"
    )
    yes_argument(parser)


STEPS = {
    "exclude": step_of(_ACTS["exclude"], _exclude_arguments),
    "restore": step_of(_ACTS["restore"], _worker_argument),
    "message": Step(_ACTS["message"].help, _message, _message_arguments),
    "admit": Step(_ACTS["admit"].help, _admit, _one_worker),
    "approve": step_of(_ACTS["approve"], _assignment_argument),
    "reject": step_of(_ACTS["reject"], _reject_arguments),
    "bonus": Step(_ACTS["bonus"].help, _bonus, _bonus_arguments),
}
