"""SQLite has one writer at a time, who may be at it for long: a page that only looks goes on."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from django.db import OperationalError, connection

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 0.5
Made = TypeVar("Made")


def if_free(make: Callable[[], Made], *, otherwise: Made) -> Made:
    """What is made and written down now; `otherwise` where somebody else is writing."""
    try:
        with _impatient():
            return make()
    except OperationalError as error:
        if connection.vendor != "sqlite" or "database is locked" not in str(error):
            raise
        log.info("not written down for a page, which shows what there was: %s", error)
        return otherwise


@contextmanager
def _impatient() -> Iterator[None]:
    if connection.vendor != "sqlite":  # its writers lock single rows
        yield
        return
    patience = connection.settings_dict["OPTIONS"].get("timeout", 5)
    _wait_at_most(PATIENCE_SECONDS)
    try:
        yield
    finally:
        _wait_at_most(patience)


def _wait_at_most(seconds: float) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
