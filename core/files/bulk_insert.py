"""Very many rows at once: Django's bulk_create looks at each field of each row, and is slow at it.

Values are given as the table holds them; what is not given takes the database's own default.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from operator import attrgetter
from typing import Any, TypeAlias

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import Field, Model, QuerySet

ROWS = 2000  # made and sent at a time

Row = Sequence[object]
Column: TypeAlias = "Field[Any, Any]"


def insert(model: type[Model], names: Sequence[str], rows: Iterable[Row]) -> None:
    """Rows of these columns: a reference to another table is `hit_id`, not `hit`.

    They may be made while they are sent, but not from the database: its connection is in use.
    """
    fields = _fields(model, names)
    if connection.vendor == "postgresql":
        _copy(model, fields, iter(rows))
    else:
        _execute(model, fields, iter(rows))


def insert_objects(objects: Sequence[Model]) -> None:
    """Like bulk_create, for models without JSON; the objects do not learn their keys."""
    if not objects:
        return
    model = type(objects[0])
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    stamped = [field for field in fields if getattr(field, "auto_now_add", False)]
    values = attrgetter(*(field.attname for field in fields))
    for each in objects:
        for field in stamped:
            field.pre_save(each, add=True)
    insert(model, [field.attname for field in fields], map(values, objects))


def insert_alike(example: Model, names: Sequence[str], rows: Iterable[Row]) -> None:
    """Rows that differ from the example, which is not stored itself, in these columns alone."""
    model = type(example)
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    for field in fields:
        if getattr(field, "auto_now_add", False):
            field.pre_save(example, add=True)
    columns = [field.attname for field in fields]
    same = [getattr(example, column) for column in columns if column not in names]
    insert(
        model,
        [*(column for column in columns if column not in names), *names],
        ([*same, *row] for row in rows),
    )


def insert_from_query(model: type[Model], names: Sequence[str], rows: QuerySet[Any, Any]) -> int:
    """What a query finds, without its passing through this process; how many rows."""
    fields = _fields(model, names)
    try:
        query, parameters = rows.query.sql_with_params()
    except EmptyResultSet:  # Django knows without asking
        return 0
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {_target(model, fields)} {query}", parameters)
        return int(cursor.rowcount)


def _fields(model: type[Model], names: Sequence[str]) -> list[Column]:
    by_name = {field.attname: field for field in model._meta.concrete_fields}
    return [by_name[name] for name in names]


def update_each(model: type[Model], name: str, values: Mapping[int, str]) -> None:
    """A text of its own for each of these rows. Django's bulk_update makes a CASE of it: slow."""
    if not values:
        return
    table, column = model._meta.db_table, _columns(_fields(model, [name]))
    places = ", ".join(["(%s, %s)"] * len(values))
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET {column} = given.column2 "  # noqa: S608 our own names
            f"FROM (VALUES {places}) AS given WHERE {table}.id = given.column1",
            [part for item in values.items() for part in item],
        )


class _Lines:
    """Rows as text, read by COPY: the server stores some while the next are made here."""

    def __init__(self, rows: Iterator[Row], *, columns: int) -> None:
        self._rows = rows
        # Unquoted, a text \. with nothing beside it would be the end of the data.
        self._quote_all = columns == 1

    def read(self, size: int) -> str:
        text = io.StringIO()
        lines = csv.writer(text, quoting=csv.QUOTE_ALL) if self._quote_all else csv.writer(text)
        lines.writerows(islice(self._rows, ROWS))
        return text.getvalue()


def _copy(model: type[Model], fields: Sequence[Column], rows: Iterator[Row]) -> None:
    # An empty value stands for NULL where there can be one, else for an empty text.
    full = _columns(field for field in fields if not field.null)
    statement = f"COPY {_target(model, fields)} FROM STDIN (FORMAT csv, FORCE_NOT_NULL ({full}))"
    with connection.cursor() as cursor, connection.wrap_database_errors:
        cursor.copy_expert(statement, _Lines(rows, columns=len(fields)))


def _execute(model: type[Model], fields: Sequence[Column], rows: Iterator[Row]) -> None:
    places = ", ".join(["%s"] * len(fields))
    statement = f"INSERT INTO {_target(model, fields)} VALUES ({places})"  # noqa: S608 our names
    with connection.cursor() as cursor:
        while some := [[_stored(value) for value in row] for row in islice(rows, ROWS)]:
            cursor.executemany(statement, some)


def _stored(value: object) -> Any:
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
    return value


def _target(model: type[Model], fields: Sequence[Column]) -> str:
    return f"{model._meta.db_table} ({_columns(fields)})"


def _columns(fields: Iterable[Column]) -> str:
    return ", ".join(str(field.column) for field in fields)
