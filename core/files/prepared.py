"""Queries that are asked at every request: Django writes their SQL once, PostgreSQL plans it once.

To write a long one, or to plan it, takes several times as long as to answer it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from django.db import connection
from django.db.models import QuerySet
from psycopg2.extensions import AsIs

# Neither is a key or a name: they mark where the value goes in the parameters.
NUMBER, TEXT = 2_147_483_629, "a text that nobody has"

# Of each connection to PostgreSQL: how the statements that are planned there are called.
_PLANNED: WeakKeyDictionary[Any, dict[object, str]] = WeakKeyDictionary()


class Prepared:
    """`make` says the query by its one value, for which `place` stands; None: it needs none."""

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
        given, marked = (
            [each if one == self._place else one for one in parameters]
            for each in (value, AsIs("$1"))
        )
        values = [] if self._place is None else [value]
        return _answers(statement, given, marked, values, key=self)


def ask(statement: str, given: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Of a statement with `%(name)s` for each value; a constant, for its plan is kept for good."""
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
        if connection.vendor == "postgresql":
            statement, given = _planned(cursor, statement, marked, len(values), key), values
        cursor.execute(statement, given)
        return list(cursor.fetchall())


def _planned(cursor: Any, statement: str, marked: Any, values: int, key: object) -> str:
    """Calls what this connection has planned, now or before."""
    calls = _PLANNED.setdefault(cursor.connection, {})
    if key not in calls:
        name = f"quorum_{len(calls)}"
        cursor.execute(f"PREPARE {name} AS {cursor.mogrify(statement, marked).decode()}")
        places = ", ".join(["%s"] * values)
        calls[key] = f"EXECUTE {name} ({places})" if values else f"EXECUTE {name}"
    return calls[key]
