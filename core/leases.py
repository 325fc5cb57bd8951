"""Whose a piece of work is: claimed by one update, held by a beat each second, lost when it fails.

Its row has `state`, `claim`, `beat_at` and `attempts`.
"""

import logging
import threading
from abc import abstractmethod
from contextlib import AbstractContextManager
from contextvars import copy_context
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self

from django.conf import settings
from django.db import OperationalError, connection
from django.db.models import F, Q, QuerySet
from django.utils import timezone

log = logging.getLogger(__name__)

QUEUED, RUNNING = "queued", "running"
BEAT_SECONDS = 1.0
# So long without a beat, and its process is dead. On SQLite a beat may wait 30 s for a writer.
_LEAST = 5 if "postgresql" in str(settings.DATABASES["default"]["ENGINE"]) else 60
STALE = timedelta(seconds=max(_LEAST, settings.CLAIM_SECONDS))
MOST_ATTEMPTS = 3


def free(now: datetime) -> Q:
    """Work that nobody is at."""
    silent = Q(beat_at=None) | Q(beat_at__lt=now - STALE)
    return Q(state=QUEUED) | (Q(state=RUNNING) & silent)


def take(row: "QuerySet[Any]", mine: str) -> bool:
    """False where another process has it, or nobody needs to any more."""
    now = timezone.now()
    waiting = row.filter(free(now), attempts__lt=MOST_ATTEMPTS)
    return bool(waiting.update(state=RUNNING, claim=mine, beat_at=now, attempts=F("attempts") + 1))


class Heartbeat(AbstractContextManager["Heartbeat"]):
    """Beats in the row of the work, from a thread with a connection of its own.

    Within a transaction of the caller's nobody else sees that row, so that nobody is told.
    """

    def __init__(self, mine: "QuerySet[Any]") -> None:
        """`mine`: the row, for as long as it is this process's."""
        self._mine = mine
        self._lost = False
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        if not connection.in_atomic_block:
            # Its log lines are about what this thread's are about.
            self._thread = threading.Thread(target=copy_context().run, args=[self._beat])

    @abstractmethod
    def facts(self) -> dict[str, object]:
        """How far the work is: columns of the row."""

    def __enter__(self) -> Self:
        if self._thread:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        if self._thread:
            self._thread.join()

    def _beat(self) -> None:
        try:
            while not self._ended.wait(BEAT_SECONDS):
                self._write()
        finally:
            connection.close()

    def _write(self) -> None:
        try:
            updated = self._mine.update(beat_at=timezone.now(), **self.facts())
        except OperationalError as error:  # busy, or away for a moment: in a second again
            log.warning("a heartbeat could not be written: %s", error)
            connection.close()
        else:
            self._lost = not updated
