"""`quorum campaign`: the verbs that the registry of operations defines, arguments included."""

import inspect
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from annotation.access.audit_log import by_command
from annotation.commands.campaign_noun import OPERATIONS as PANEL
from annotation.commands.campaign_noun import campaign_verb
from annotation.crowd.factory import open_crowd
from annotation.crowd.port import Crowd
from annotation.models import Campaign
from annotation.operations.campaign.retry import messages_wait
from annotation.operations.operation import Argument, Operation, perform
from annotation.operations.registry import OPERATIONS
from annotation.pipeline.outbox.claims import waiting
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing.crowd_setup import check_endpoint
from core.command import REFUSED, Result, progress, say
from core.errors import UserError
from core.progress import Progress

if TYPE_CHECKING:
    from tqdm import tqdm

Yes = Annotated[bool, typer.Option("--yes", help="Skip confirmation.")]


def _add(operation: Operation) -> None:
    def run(campaign: Campaign, yes: bool = False, **options: Any) -> Result:
        crowd = _crowd_of(campaign) if operation.calls_crowd else None
        if operation.confirms:
            _confirm(operation.preview(campaign, options), yes=yes)
        done = perform(operation, campaign, options, by=by_command())
        sent = _send(campaign, crowd) if operation.calls_crowd else {}
        if refusal := operation.refusal(campaign, options):
            raise UserError(refusal)
        return {"campaign": campaign.name, **done, **sent}

    parameters = [_parameter("campaign", Campaign), *map(_given, operation.arguments)]
    if operation.confirms:
        parameters.append(_parameter("yes", Yes, default=False))
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__doc__ = f"{operation.help[0].upper()}{operation.help[1:]}."
    campaign_verb(operation.name, panel=PANEL)(run)


def _given(argument: Argument) -> inspect.Parameter:
    """Words and numbers are options; names and money are positional."""
    help = f"{argument.label}: {argument.help}." if argument.help else f"{argument.label}."
    metavar = argument.name.upper()
    if argument.kind == "count":
        number = typer.Option(f"--{argument.name}", metavar="N", help=help)
        return _parameter(argument.name, Annotated[int, number], default=argument.default)
    if argument.kind == "text":
        text = typer.Option(f"--{argument.name}", metavar="TEXT", help=help, show_default=False)
        return _parameter(argument.name, Annotated[str, text], default=argument.default)
    return _parameter(argument.name, Annotated[str, typer.Argument(metavar=metavar, help=help)])


def _parameter(name: str, annotation: Any, default: object = None) -> inspect.Parameter:
    given = inspect.Parameter.empty if default is None else default
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=given, annotation=annotation)


def _confirm(sentences: Sequence[str], *, yes: bool) -> None:
    """Preview, then continue with --yes or a typed y alone."""
    if yes:
        say("\n".join(sentences))
        return
    print(*sentences, sep="\n", file=sys.stderr)
    if not sys.stdin.isatty():
        _end("Nothing was changed: add --yes to go on.")
    print("Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        _end("Nothing was changed.")


def _end(sentence: str) -> NoReturn:
    """Nothing went wrong, so this is no error; a script still sees that nothing was done."""
    print(sentence, file=sys.stderr)
    raise typer.Exit(REFUSED)


def _crowd_of(campaign: Campaign) -> Crowd | None:
    """Where it is published, which was confirmed by hand then; None where it is not."""
    if not campaign.endpoint:
        return None
    crowd = open_crowd(campaign.policy.crowd, live=True)
    check_endpoint(campaign, crowd)
    return crowd


def _send(campaign: Campaign, crowd: Crowd | None) -> Result:
    """What was decided goes out at once; UserError where it has to wait for a later pass."""
    if crowd is None:
        return {"sent": 0, "failed": 0, "waiting": waiting(campaign)}
    with progress(waiting(campaign), "Telling the crowd", " calls") as bar:
        sent = deliver(campaign, crowd, progress=messages_sent(campaign, bar))
    left = waiting(campaign)
    if sent.stopped_by:
        raise UserError(
            f"It is decided and kept; {messages_wait(left)} for the next pass: {sent.stopped_by}"
        )
    return {"sent": sent.sent, "failed": sent.failed, "waiting": left}


def messages_sent(campaign: Campaign, bar: "tqdm[Any]") -> Progress:
    """Moves the bar by what no longer waits: a call that did not get through still does."""
    first = waiting(campaign)

    def update(_: int) -> None:
        bar.update(max(0, first - waiting(campaign) - bar.n))

    return update


for operation in OPERATIONS.values():
    _add(operation)
