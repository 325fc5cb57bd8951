"""Queries that are asked at every request: Django writes their SQL once, PostgreSQL plans it once.

To write a long one, or to plan it, takes several times as long as to answer it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

from django.db import NotSupportedError, connection
from django.db.models import QuerySet
from psycopg2.extensions import AsIs

# Neither is a key or a name: they mark where the value goes in the parameters.
NUMBER, TEXT = 2_147_483_629, "a text that nobody has"

# The statements that each connection to PostgreSQL has planned, and how to call them there.
_PLANNED: WeakKeyDictionary[Any, dict[object, str]] = WeakKeyDictionary()
_NUMBERS = count()


class Prepared:
    """`make` builds the query from its one value, which `place` stands for; None: it takes none."""

    def __init__(
        self, make: Callable[[Any], QuerySet[Any, Any]], place: int | str | None = None
    ) -> None:
        self._make = make
        self._place = place
        self._written: tuple[str, tuple[Any, ...]] | None = None

    def rows(self, value: int | str | None = None) -> list[tuple[Any, ...]]:
        if self._written is None:
            self._written = self._make(self._place).query.sql_with_params()
        statement, parameters = self._written
        given = [value if one == self._place else one for one in parameters]
        marked = [AsIs("$1") if one == self._place else one for one in parameters]
        values = [] if self._place is None else [value]
        return _answers(statement, given, marked, values, key=self)


def ask(statement: str, given: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The rows of a statement with `%(name)s` for each value; a constant, for its plan is kept."""
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", statement)))
    marked = {name: AsIs(f"${number}") for number, name in enumerate(names, 1)}
    return _answers(statement, given, marked, [given[name] for name in names], key=statement)


def _answers(
    statement: str,
    given: Sequence[Any] | Mapping[str, Any],
    marked: Sequence[Any] | Mapping[str, Any],
    values: Sequence[Any],
    *,
    key: object,
) -> list[tuple[Any, ...]]:
    """`given`: its parameters; `marked`: the same, with $1, $2, ... for what may differ."""
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            cursor.execute(statement, given)
            return list(cursor.fetchall())
        calls = _PLANNED.setdefault(cursor.connection, {})
        for is_new in (key not in calls, True):
            if is_new:
                calls[key] = _plan(cursor, statement, marked, len(values))
            try:
                cursor.execute(calls[key], values)
                break
            except NotSupportedError:  # a column that it reads has another type since
                if is_new or connection.in_atomic_block:
                    raise
        return list(cursor.fetchall())


def _plan(cursor: Any, statement: str, marked: Any, values: int) -> str:
    name = f"quorum_{next(_NUMBERS)}"
    cursor.execute(f"PREPARE {name} AS {cursor.mogrify(statement, marked).decode()}")
    places = ", ".join(["%s"] * values)
    return f"EXECUTE {name} ({places})" if values else f"EXECUTE {name}"
