"""The subcommands of `manage.py campaign` that are made from the registry of operations."""

from typing import Any

from django.core.management.base import CommandParser

from annotation.access.audit_log import by_command
from annotation.management.campaign.base import (
    Options,
    Result,
    Step,
    confirm,
    crowd_of,
    send,
    yes_argument,
)
from annotation.models import Campaign
from annotation.operations.operation import Argument, Operation, perform
from annotation.operations.registry import OPERATIONS
from core.command import QuorumCommand
from core.errors import UserError


def _step(operation: Operation) -> Step:
    def arguments(parser: CommandParser) -> None:
        for argument in operation.arguments:
            _add(parser, argument)
        if operation.confirms:
            yes_argument(parser)

    def run(command: QuorumCommand, campaign: Campaign, options: Options) -> Result:
        return _run(command, operation, campaign, options)

    return Step(operation.help, run, arguments)


def _add(parser: CommandParser, argument: Argument) -> None:
    """Words and numbers are options, names and money are positional."""
    about: dict[str, Any] = {"help": argument.help, "metavar": argument.name.upper()}
    if argument.kind in {"text", "count"}:
        kind: type = int if argument.kind == "count" else str
        default = argument.default
        parser.add_argument(
            f"--{argument.name}", type=kind, required=default is None, default=default, **about
        )
    else:
        parser.add_argument(argument.name, **about)


def _run(
    command: QuorumCommand, operation: Operation, campaign: Campaign, options: Options
) -> Result:
    crowd = crowd_of(campaign) if operation.calls_crowd else None
    if operation.confirms:
        confirm(command, operation.preview(campaign, options), yes=options["yes"])
    done = perform(operation, campaign, options, by=by_command())
    sent = send(command, campaign, crowd) if operation.calls_crowd else {}
    if refusal := operation.refusal(campaign, options):
        raise UserError(refusal)
    return {"campaign": campaign.name, **done, **sent}


STEPS = {name: _step(operation) for name, operation in OPERATIONS.items()}
