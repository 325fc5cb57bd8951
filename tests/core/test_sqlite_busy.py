"""A page that only looks shows what there was while another one writes; no fault is hidden."""

import threading
from collections.abc import Iterator

import pytest
from django.db import OperationalError, connection, connections, transaction

from core import sqlite_busy
from core.sqlite_busy import if_free
from retrieval.models import QuerySet

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrent]

SQLITE = connection.vendor == "sqlite"


@pytest.fixture
def somebody_writing() -> Iterator[None]:
    """In a transaction of another connection, until the test is over."""
    begun, over = threading.Event(), threading.Event()

    def write() -> None:
        with transaction.atomic():
            QuerySet.objects.create(name="theirs", origin="file")
            begun.set()
            over.wait(60)
        connections.close_all()

    writer = threading.Thread(target=write)
    writer.start()
    assert begun.wait(60)
    yield
    over.set()
    writer.join()


def write_mine() -> str:
    QuerySet.objects.create(name="mine", origin="file")
    return "made"


def test_what_nobody_hinders_is_made() -> None:
    assert if_free(write_mine, otherwise="what there was") == "made"
    assert QuerySet.objects.get().name == "mine"


@pytest.mark.skipif(not SQLITE, reason="writers lock single rows")
@pytest.mark.usefixtures("somebody_writing")
def test_while_another_writes_there_is_what_there_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_busy, "PATIENCE_SECONDS", 0)
    assert if_free(write_mine, otherwise="what there was") == "what there was"
    assert not QuerySet.objects.exists()


@pytest.mark.skipif(SQLITE, reason="has one writer at a time")
@pytest.mark.usefixtures("somebody_writing")
def test_on_postgresql_nobody_waits_for_another_writer() -> None:
    assert if_free(write_mine, otherwise="what there was") == "made"


@pytest.mark.parametrize(
    "statement",
    ["SELECT 1 FROM nothing"]
    if SQLITE
    else [
        "SET statement_timeout = 1; SELECT pg_sleep(60)",
        "SELECT pg_terminate_backend(pg_backend_pid())",
    ],
)
def test_another_fault_of_the_database_is_not_hidden(statement: str) -> None:
    def fault() -> str:
        with connection.cursor() as cursor:
            cursor.execute(statement)
        return "made"

    with pytest.raises(OperationalError):
        if_free(fault, otherwise="what there was")
    connection.close()  # with its settings
