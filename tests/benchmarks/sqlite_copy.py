"""What COPY does on PostgreSQL."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from django.db import connection

from benchmarks.release.record import NULL


def insert(table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    values = ", ".join(["%s"] * len(columns))
    statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values})"
    known = [[_known(value) for value in row] for row in rows]
    with connection.cursor() as cursor:
        cursor.executemany(statement, known)


def _known(value: Any) -> Any:
    """SQLite takes a number of numpy's for bytes."""
    if isinstance(value, np.generic):
        return value.item()
    return None if value == NULL else value
