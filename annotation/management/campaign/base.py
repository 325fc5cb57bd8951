"""What the subcommands of `manage.py campaign` have in common."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandParser

from annotation.crowd.factory import open_crowd
from annotation.crowd.port import Crowd
from annotation.models import Campaign
from annotation.operations.campaign.retry import calls_wait
from annotation.pipeline.outbox.claims import waiting
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing.publish import check_endpoint
from core.command import QuorumCommand
from core.errors import UserError
from core.progress import Progress

if TYPE_CHECKING:
    from tqdm import tqdm

Result = dict[str, object]
Options = dict[str, Any]


def no_arguments(parser: CommandParser) -> None:
    """The campaign's name is all that is asked for."""


@dataclass(frozen=True)
class Step:
    """One subcommand on a campaign that there is."""

    help: str
    run: Callable[[QuorumCommand, Campaign, Options], Result]
    arguments: Callable[[CommandParser], None] = no_arguments


def yes_argument(parser: CommandParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do it without asking back")


def confirm(command: QuorumCommand, sentences: Sequence[str], *, yes: bool) -> None:
    """Say what will follow, then go on by --yes or a typed y alone; UserError else."""
    if yes:
        if not command.silent:
            _say(command, sentences)
        return
    if not sys.stdin.isatty():
        refusal = "Nothing was changed: add --yes to go on."
        raise UserError(" ".join([*sentences, refusal]))
    _say(command, sentences)
    command.stderr.write("Go on? [y/N] ", ending="")
    command.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise UserError("Nothing was changed.")


def _say(command: QuorumCommand, sentences: Sequence[str]) -> None:
    for sentence in sentences:
        command.stderr.write(sentence, style_func=str)


def crowd_of(campaign: Campaign) -> Crowd | None:
    """Where it is published, which was confirmed by hand then; None where it is not."""
    if not campaign.endpoint:
        return None
    crowd = open_crowd(campaign.policy.crowd, live=True)
    check_endpoint(campaign, crowd)
    return crowd


def send(command: QuorumCommand, campaign: Campaign, crowd: Crowd | None) -> Result:
    """What was decided goes out at once; UserError where it has to wait for a later pass."""
    if crowd is None:
        return {"sent": 0, "failed": 0, "waiting": waiting(campaign)}
    with command.progress(waiting(campaign), "telling the crowd", " calls") as bar:
        sent = deliver(campaign, crowd, progress=calls_made(campaign, bar))
    left = waiting(campaign)
    if sent.stopped_by:
        raise UserError(
            f"It is decided and kept; {calls_wait(left)} for the next pass: {sent.stopped_by}"
        )
    return {"sent": sent.sent, "failed": sent.failed, "waiting": left}


def calls_made(campaign: Campaign, bar: "tqdm[Any]") -> Progress:
    """Moves the bar by what no longer waits: a call that did not get through still does."""
    first = waiting(campaign)

    def update(_: int) -> None:
        bar.update(max(0, first - waiting(campaign) - bar.n))

    return update
