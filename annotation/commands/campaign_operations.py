"""The verbs that the registry of operations defines, arguments included."""

import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from django.db import OperationalError

from annotation.access.audit_log import by_command, record
from annotation.analytics.campaign.snapshots import take_after_a_pass
from annotation.commands import controls, history, turk
from annotation.commands.campaign_noun import OPERATIONS as PANEL
from annotation.commands.campaign_noun import STEPS, STUDIES, campaign_verb, in_words
from annotation.crowd.factory import open_crowd
from annotation.crowd.port import Crowd
from annotation.models import Campaign
from annotation.operations.campaign.retry import messages_wait
from annotation.operations.operation import MOST, Argument, LongOperation, Operation, Run, perform
from annotation.operations.registry import DATABASE_OPERATIONS
from annotation.pipeline.outbox.claims import waiting
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing.crowd_setup import check_endpoint
from core.command import Device, Result, Yes, choice, confirm, progress
from core.errors import UserError
from core.output import Facts
from core.progress import Progress
from retrieval.commands import corpus
from retrieval.corpus.withdraw import NAME, read_names
from retrieval.query_sets.held_out import read_ids

log = logging.getLogger(__name__)

TYPES: Mapping[str, Any] = {
    "count": int,
    "share": float,
    "text": str,
    "choices": str,
    "flag": bool,
}


def add(operation: Operation) -> None:
    campaign_verb(operation.name, panel=STUDIES if operation.is_study else PANEL)(
        verb_of(operation)
    )


def verb_of(operation: Operation) -> Callable[..., Result]:
    """Of a campaign or, where its noun is another, without one."""

    def run(campaign: Campaign | None = None, yes: bool = False, **options: Any) -> Result:
        crowd = _crowd_of(campaign) if campaign and operation.calls_crowd else None
        if operation.confirms:
            confirm(operation.preview(campaign, options), yes=yes)
        done = perform(operation, campaign, options, by=by_command())
        sent = _send(campaign, crowd) if campaign and operation.calls_crowd else {}
        if refusal := operation.refusal(campaign, options):
            raise UserError(refusal)
        hint = operation.hint(campaign, options)
        named = {"campaign": campaign.name} if campaign else {}
        return {**named, **done, **sent, **({"next": hint} if hint else {})}

    parameters = [*map(given, operation.arguments)]
    if operation.noun == "campaign":
        parameters.insert(0, parameter("campaign", Campaign))
    if operation.confirms:
        parameters.append(parameter("yes", Yes, default=False))
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__doc__ = operation.sentence
    return run


def add_long(operation: LongOperation) -> None:
    """It runs in the foreground, with bars."""

    def execute(campaign: Campaign, **options: Any) -> Result:
        for argument in operation.arguments:
            if argument.kind == "choices" and options[argument.name]:
                options[argument.name] = options[argument.name].split(",")
        with watched(operation, campaign) as run:
            result = operation.run(campaign, options, run)
        report = operation.report(campaign, result)
        if operation.logged:
            _take_figures(campaign)
        if operation.stopped and result["stopped_by"]:
            raise UserError(operation.stopped.format(campaign=campaign, **result))
        return {"campaign": campaign.name, **report}

    arguments = (*operation.arguments, *operation.command_arguments)
    parameters = [parameter("campaign", Campaign), *map(given, arguments)]
    execute.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    execute.__doc__ = operation.sentence
    campaign_verb(operation.name, panel=STUDIES if operation.is_study else STEPS)(execute)


def _take_figures(campaign: Campaign) -> None:
    """What was done stands, even if counting fails: the figures are counted again later."""
    try:
        take_after_a_pass(campaign)
    except (UserError, OperationalError) as error:
        log.warning("campaign %s: its figures were not taken: %s", campaign, error)


@contextmanager
def watched(operation: LongOperation, campaign: Campaign) -> Iterator[Run]:
    """By bars, and by the audit log."""

    def log(details: Mapping[str, Any]) -> None:
        record(by_command(), operation.name, campaign=campaign, details=details)

    begun: dict[str, Progress] = {}
    with ExitStack() as bars:

        def stage(label: str, total: int | None) -> Progress:
            if label not in begun:
                bar = progress(total, label[0].upper() + label[1:])
                begun[label] = bars.enter_context(bar).update
            return begun[label]

        yield Run(stage, log)


def given(argument: Argument) -> inspect.Parameter:
    """Names and money are positional, the rest are options."""
    if argument.kind == "device":
        return parameter(argument.name, Device, default=argument.default)
    help = f"{argument.label}: {argument.help}." if argument.help else f"{argument.label}."
    if argument.kind == "choice":
        words = f"{argument.label}: {', '.join(argument.choices)}."
        position = choice(argument.name.upper(), argument.choices, words)
        return parameter(argument.name, Annotated[str, position])
    if argument.kind in MOST:
        return parameter(argument.name, Annotated[list[str] | None, _several(argument)], None)
    if argument.kind not in TYPES and not argument.optional:
        position = typer.Argument(metavar=argument.name.upper(), help=help)
        return parameter(argument.name, Annotated[str, position])
    kind = TYPES.get(argument.kind, str)
    option = typer.Option(
        "--" + argument.name.replace("_", "-"),
        metavar=",".join(argument.choices) or ("SHARE" if kind is float else None),
        help=help,
        show_default=argument.kind in ("count", "share"),
    )
    if argument.optional:
        return parameter(argument.name, Annotated[kind | None, option], default=None)
    default = inspect.Parameter.empty if argument.required else argument.default
    return parameter(argument.name, Annotated[kind, option], default=default)


def _several(argument: Argument) -> Any:
    """Given once for each; a file may name pairs or queries."""
    column, read = IN_FILES.get(argument.kind, ("", None))
    one = argument.name.removesuffix("s")
    help = f", or a file with one per line or in a column `{column}`" if column else ""
    return typer.Option(
        f"--{one}",
        metavar=one.upper() + ("|FILE" if column else ""),
        help=f"{argument.label}: {argument.help}{help}; repeat it for several.",
        callback=read,
    )


def _pairs(given: list[str] | None) -> list[str]:
    lists = ([one] if NAME.fullmatch(one) else read_names(Path(one)) for one in given or ())
    return list(chain.from_iterable(lists))


def _queries(given: list[str] | None) -> list[str]:
    """Any word may be an id: a file is what lies there."""
    lists = (read_ids(Path(one)) if Path(one).is_file() else [one] for one in given or ())
    return list(chain.from_iterable(lists))


IN_FILES: Mapping[str, tuple[str, Callable[[list[str] | None], list[str]]]] = {
    "pairs": ("pair", _pairs),
    "queries": ("id", _queries),
}


def parameter(
    name: str, annotation: Any, default: object = inspect.Parameter.empty
) -> inspect.Parameter:
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=default, annotation=annotation)


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
        sent = deliver(campaign, crowd, progress=bar.update)
    left = waiting(campaign)
    if sent.stopped_by:
        raise UserError(
            f"It is decided and kept; {messages_wait(left)} for the next pass: {sent.stopped_by}"
        )
    return {"sent": sent.sent, "failed": sent.failed, "waiting": left}


# Of other nouns.
APPS = {
    "corpus": corpus.app,
    "controls": controls.app,
    "import": history.app,
    "turk": turk.app,
}
for operation in DATABASE_OPERATIONS.values():
    render = in_words if operation.noun == "turk" else Facts
    APPS[operation.noun].verb(operation.verb or operation.name, render=render)(verb_of(operation))
