"""An operation: what people do to a campaign, or the database, by a page, an API call, a command.

The three are made from what stands here, arguments and words included. An operation first says in
sentences what would follow; `perform` then executes and logs it in one transaction. Calls to the
crowd are written to the outbox, and delivered from there. Beside the arguments, `execute` finds
the actor in its options, as "by".

A long operation is a job for a page and a program; a command runs it while somebody waits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from django.db import transaction

from annotation.access.audit_log import Actor, logged
from annotation.models import AuditEntry, Campaign
from core.errors import UserError
from core.progress import Progress

Options = Mapping[str, Any]
Result = dict[str, Any]
# money: a text such as "12.50"; worker and assignment: as the crowd names them; share: from 0
# to 1; choice: one of them; choices: one or several; account: a user name; pairs: several, each by
# its key or its id in the database; queries: several, by their ids; source, sources: of pairs;
# name: of what is created
Kind = Literal[
    "money", "count", "text", "worker", "assignment", "account", "flag", "share", "choice",
    "choices", "device", "pairs", "queries", "corpus", "source", "sources", "name",
]  # fmt: skip
LONGEST: Mapping[Kind, int] = {"text": 2000, "account": 150}
# Several of one argument: at most so many by a page or an API call.
MOST: Mapping[Kind, int] = {"pairs": 1_000, "queries": 10_000, "sources": 1_000}
Place = Any  # the campaign; None for what is done to the database, which all of them share


@dataclass(frozen=True)
class Argument:
    name: str
    kind: Kind
    label: str
    help: str = ""
    default: object = None  # None: required, unless it is optional
    minimum: int = 1  # of a count
    maximum: int = 365
    optional: bool = False  # None where it is left out
    choices: tuple[str, ...] = ()

    @property
    def required(self) -> bool:
        return self.default is None and not self.optional

    @property
    def longest(self) -> int:
        return LONGEST.get(self.kind, 100)


def nothing(place: Place, options: Options) -> str:
    return ""


def no_initial(place: Place, given: Options) -> Options:
    return {}


@dataclass(frozen=True)
class Described:
    """What the faces of an operation have in common."""

    name: str
    help: str  # what it does, for people who choose among operations
    permission: str
    # Only an account has its permission, and no role: it changes more than the campaign.
    everywhere: bool = field(default=False, kw_only=True)
    # One more, in the campaign: what is made beside it takes something of it.
    also: str = field(default="", kw_only=True)
    spends: bool = field(default=False, kw_only=True)  # money, or may from now on
    irreversible: bool = field(default=False, kw_only=True)
    harms: bool = field(default=False, kw_only=True)  # somebody
    is_study: bool = field(default=False, kw_only=True)  # creates campaigns beside this one
    subject: str = field(default="", kw_only=True)  # the argument that names to whom it is done
    # Of its page: before the campaign's name or the subject, and on its button; else its name.
    title: str = field(default="", kw_only=True)
    button: str = field(default="", kw_only=True)

    @property
    def words(self) -> str:
        return self.name.replace("-", " ").capitalize()

    @property
    def sentence(self) -> str:
        return f"{self.help[0].upper()}{self.help[1:]}."


@dataclass(frozen=True)
class Operation(Described):
    # Both raise UserError where the operation is impossible; `preview` changes nothing.
    preview: Callable[[Place, Options], Sequence[str]]
    execute: Callable[[Place, Options], Result]
    arguments: tuple[Argument, ...] = ()
    noun: str = "campaign"  # of its command; with another one it is done to the database
    verb: str = ""  # of its command; else its name
    calls_crowd: bool = True
    confirms: bool = True  # the command previews it and asks
    # Why the crowd has refused its call, once that is delivered; empty where it has not.
    refusal: Callable[[Place, Options], str] = nothing
    hint: Callable[[Place, Options], str] = nothing  # what a command says to do next
    # What its page writes into the fields that a link does not fill, by those that it does.
    initial: Callable[[Place, Options], Options] = no_initial

    def complete(self, options: Options) -> dict[str, Any]:
        """With the default of each argument that is left out."""
        return _defaults(self.arguments) | dict(options)


def perform(
    operation: Operation, campaign: Campaign | None, options: Options, *, by: Actor
) -> Result:
    details = {argument.name: options[argument.name] for argument in operation.arguments}
    subject = str(details.pop(operation.subject, None) or "")
    with logged(by, operation.name, campaign, subject=subject) as entry:
        result = operation.execute(campaign, {**options, "by": by})
        entry.details = details | result
        # A panel's ID of somebody is to be deleted one day, and the log is not.
        entry.subject = str(result.get(operation.subject, subject))
    return result


NOBODY = Actor(None, "", AuditEntry.Via.COMMAND)


def tried(
    execute: Callable[[Place, Options], Result], *sentences: str
) -> Callable[[Place, Options], Sequence[str]]:
    """A preview that executes and rolls back: for what is small and calls nobody.

    The sentences are formatted with the options, among which may be the actor.
    """

    def preview(place: Place, options: Options) -> Sequence[str]:
        with transaction.atomic():
            execute(place, {"by": NOBODY, **options})
            transaction.set_rollback(True)
        return [sentence.format(**options) for sentence in sentences]

    return preview


class Unfinished(UserError):
    """Some of it is done: the result says what."""

    def __init__(self, sentence: str, result: Result) -> None:
        super().__init__(sentence)
        self.result = result


@dataclass(frozen=True)
class Run:
    """Where a long operation says how far it is, and what it has done."""

    # Of this name, and of so many units; asked for again, the same name is the same stage.
    stage: Callable[[str, int | None], Progress]
    # What is done, within its transaction. Of a job nothing: it was logged when it was requested.
    log: Callable[[Mapping[str, Any]], object] = lambda details: None
    # Makes a campaign that it creates belong to the account that requested it.
    own: Callable[[Campaign], object] = lambda campaign: None


@dataclass(frozen=True)
class Order:
    """The arguments of a job, and what only the audit log keeps beside them."""

    arguments: Mapping[str, Any]
    details: Mapping[str, Any] = field(default_factory=dict)


def as_given(campaign: Campaign, options: Options) -> Order:
    return Order({name: value for name, value in options.items() if value is not None})


@dataclass(frozen=True)
class LongOperation(Described):
    run: Callable[[Campaign, Options, Run], Result]
    arguments: tuple[Argument, ...] = ()
    command_arguments: tuple[Argument, ...] = ()  # further ones, of the command alone
    # Both raise UserError where the operation is impossible.
    preview: Callable[[Campaign, Options], Sequence[str]] | None = None
    example: tuple[str, ...] = ()  # of what the preview says
    order: Callable[[Campaign, Options], Order] = as_given
    # The audit log gets an entry, and the campaign's figures are counted again afterwards.
    logged: bool = True
    has_command: bool = True
    # What a command prints, and its error where `stopped_by` says that some of it is left to do.
    report: Callable[[Campaign, Result], Result] = lambda campaign, result: result
    stopped: str = ""  # formatted with the campaign and the result

    def complete(self, options: Options) -> dict[str, Any]:
        """With the default of each argument that is left out."""
        return _defaults(self.arguments) | dict(options)

    def complete_command(self, options: Options) -> dict[str, Any]:
        return _defaults(self.command_arguments) | self.complete(options)


def _defaults(arguments: Sequence[Argument]) -> dict[str, Any]:
    return {argument.name: argument.default for argument in arguments}
