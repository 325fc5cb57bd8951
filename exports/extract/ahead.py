"""Rows that the server sends while the ones before them are worked on."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from django.db import connection

Row = TypeVar("Row")


def ahead(rows: Iterator[Row], size: int) -> Iterator[list[Row]]:
    """So many at a time. SQLite has no server: there, nobody would fetch them meanwhile."""

    def fetch() -> list[Row]:
        return list(islice(rows, size))

    if connection.vendor == "sqlite":
        yield from iter(fetch, [])
        return
    # The cursor is opened by this thread, whose connection it is.
    some = fetch()
    with ThreadPoolExecutor(max_workers=1) as thread:
        while some:
            coming = thread.submit(fetch)
            yield some
            some = coming.result()
