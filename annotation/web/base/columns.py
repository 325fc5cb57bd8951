"""The columns of a list, and its order by a click on a heading."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import F
from django.db.models.expressions import OrderBy

NUMBER, WIDE, WIDE_NUMBER = "dash-number", "dash-wide", "dash-number dash-wide"


@dataclass(frozen=True)
class Column:
    name: str  # in ?sort=, with a minus before it from the highest down
    heading: str
    field: str = ""  # empty: nobody sorts by it
    look: str = ""  # the heading's classes


@dataclass(frozen=True)
class Heading:
    text: str
    look: str
    link: str  # the ?sort= that a click asks for; empty: a click asks for nothing
    name: str
    direction: str = ""  # of the order shown: ascending or descending
    hidden: bool = False  # the reader has chosen other columns


def order_of(asked: str, columns: Sequence[Column], usual: str) -> str:
    known = {column.name for column in columns if column.field}
    return asked if asked.removeprefix("-") in known else usual


def ordering(order: str, columns: Sequence[Column], ties: str) -> list[OrderBy]:
    """Rows without a value come last, either way."""
    fields = {column.name: column.field for column in columns}
    field = F(fields[order.removeprefix("-")])
    down = order.startswith("-")
    first = field.desc(nulls_last=True) if down else field.asc(nulls_last=True)
    return [first, F(ties).asc()]


def heading(column: Column, order: str) -> Heading:
    """The first click on a column of numbers shows the highest."""
    text, look, up, down = column.heading, column.look, column.name, f"-{column.name}"
    if not column.field:
        return Heading(text, look, "", up)
    if order == down:
        return Heading(text, look, up, up, "descending")
    if order == up:
        return Heading(text, look, down, up, "ascending")
    return Heading(text, look, down if NUMBER in look else up, up)
