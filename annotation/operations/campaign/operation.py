"""What people do to a campaign: one table of acts for the commands, the pages and the API.

An act says first what will follow, in sentences; then it is carried out and logged in one
transaction. Its calls to the crowd are messages, which whoever comes first delivers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.db import transaction

from annotation.access.audit_log import Actor, record
from annotation.models import Campaign

Options = Mapping[str, Any]
Result = dict[str, object]
# dollars: a text such as "12.50"; worker and assignment: as the crowd names them
Kind = Literal["dollars", "count", "text", "worker", "assignment"]


@dataclass(frozen=True)
class Field:
    """Something that an act has to be told."""

    name: str
    kind: Kind
    label: str
    help: str = ""
    default: object = None  # None: it must be given
    least: int = 1  # of a count
    most: int = 365


@dataclass(frozen=True)
class Act:
    name: str
    help: str  # what it does, for whoever chooses among acts
    permission: str
    # Both raise UserError where the act cannot be done; the first one changes nothing.
    foresee: Callable[[Campaign, Options], Sequence[str]]
    carry_out: Callable[[Campaign, Options], Result]
    fields: tuple[Field, ...] = ()
    subject: str = ""  # the field that names whom it is done to
    calls: bool = True  # the crowd has to be told of it
    spends: bool = False  # money, or may from now on
    for_good: bool = False


def perform(act: Act, campaign: Campaign, options: Options, *, by: Actor) -> Result:
    with transaction.atomic():
        result = act.carry_out(campaign, options)
        details = {field.name: options[field.name] for field in act.fields}
        subject = str(details.pop(act.subject, ""))
        record(by, act.name, campaign=campaign, subject=subject, details=details | result)
    return result
