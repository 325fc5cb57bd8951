"""An operation: something that people do to a campaign by a page, an API call or a command.

The three are made from what stands here, arguments and words included. An operation first says in
sentences what would follow; `perform` then executes and logs it in one transaction. Calls to the
crowd are written to the outbox, from which whoever comes first delivers them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from annotation.access.audit_log import Actor, logged
from annotation.models import Campaign

Options = Mapping[str, Any]
Result = dict[str, object]
# dollars: a text such as "12.50"; worker and assignment: as the crowd names them
Kind = Literal["dollars", "count", "text", "worker", "assignment"]


@dataclass(frozen=True)
class Argument:
    name: str
    kind: Kind
    label: str
    help: str = ""
    default: object = None  # None: required
    minimum: int = 1  # of a count
    maximum: int = 365


def never_refused(campaign: Campaign, options: Options) -> str:
    return ""


@dataclass(frozen=True)
class Operation:
    name: str
    help: str  # what it does, for whoever chooses among operations
    permission: str
    # Both raise UserError where the operation is impossible; `preview` changes nothing.
    preview: Callable[[Campaign, Options], Sequence[str]]
    execute: Callable[[Campaign, Options], Result]
    arguments: tuple[Argument, ...] = ()
    subject: str = ""  # the argument that names whom or what it is done to
    calls_crowd: bool = True
    spends: bool = False  # money, or may from now on
    irreversible: bool = False
    harms: bool = False  # somebody
    confirms: bool = True  # the command previews it and asks
    title: str = ""  # of its page, before the campaign's name or the subject; else its name
    button: str = ""  # else its name
    # Why the crowd has refused its call, once that is delivered; empty where it has not.
    refusal: Callable[[Campaign, Options], str] = never_refused

    @property
    def words(self) -> str:
        return self.name.replace("-", " ").capitalize()


def perform(operation: Operation, campaign: Campaign, options: Options, *, by: Actor) -> Result:
    details = {argument.name: options[argument.name] for argument in operation.arguments}
    subject = str(details.pop(operation.subject, ""))
    with logged(by, operation.name, campaign, subject=subject) as entry:
        result = operation.execute(campaign, options)
        entry.details = details | result
    return result
