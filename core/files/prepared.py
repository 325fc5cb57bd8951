"""Queries that are asked at every request: Django writes their SQL once.

To write a long one takes several times as long as to ask it.
"""

from collections.abc import Callable
from typing import Any

from django.db import connection
from django.db.models import QuerySet

# Neither is a key or a name: they mark where the value goes in the parameters.
NUMBER, TEXT = 2_147_483_629, "a text that nobody has"


class Prepared:
    """`make` says the query by its one value, for which `place` stands."""

    def __init__(self, make: Callable[[Any], QuerySet[Any, Any]], place: int | str) -> None:
        self._make = make
        self._place = place
        self._written: tuple[str, tuple[Any, ...]] | None = None

    def rows(self, value: int | str) -> list[tuple[Any, ...]]:
        if self._written is None:
            self._written = self._make(self._place).query.sql_with_params()
        statement, parameters = self._written
        with connection.cursor() as cursor:
            cursor.execute(statement, [value if one == self._place else one for one in parameters])
            return list(cursor.fetchall())
