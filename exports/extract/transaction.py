"""One state of the database for many reads, while others go on writing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.sqlite3.base import DatabaseWrapper as Sqlite

from annotation.models import Campaign


@contextmanager
def snapshot(campaign: Campaign) -> Iterator[Sequence[Campaign]]:
    """Its crowds as they are now; whatever is read until the end is of the same moment.

    Writers neither wait nor are waited for. Inside a transaction of the caller's, which sees what
    others commit meanwhile, the campaigns' rows are locked instead: then no label changes.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.in_atomic_block:
        yield list(campaign.crowds.select_for_update(of=["self"]))
        return
    with _begin(connection):
        # What is seen is settled by the first read, not by BEGIN.
        yield list(campaign.crowds)


@contextmanager
def _begin(connection: BaseDatabaseWrapper) -> Iterator[None]:
    if isinstance(connection, Sqlite):
        with _without_write_lock(connection), transaction.atomic():
            yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            # All of each result will be read: the server need not be quick with the first rows.
            cursor.execute("SET LOCAL cursor_tuple_fraction = 1")
        yield


@contextmanager
def _without_write_lock(connection: Sqlite) -> Iterator[None]:
    """The settings let every transaction begin as a writer, of which there can be one."""
    connection.ensure_connection()  # which sets the mode that is changed here
    attributes = vars(connection)  # the stubs do not know this one
    mode = attributes["transaction_mode"]
    attributes["transaction_mode"] = "DEFERRED"
    try:
        yield
    finally:
        attributes["transaction_mode"] = mode
