"""Whose a build is: claimed by one update, held by a beat each second, lost when the beat fails."""

import logging
import threading
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from types import TracebackType

from django.db import OperationalError, connection
from django.db.models import F, Q
from django.utils import timezone

from exports.models import Build
from retrieval.progress import Progress

log = logging.getLogger(__name__)

BEAT_SECONDS = 1.0
# A writer of SQLite waits for half as long.
STALE = timedelta(seconds=60)
MOST_ATTEMPTS = 3
GIVEN_UP = (
    "Whoever was at the build ended before it did, by an error or by force: the log says more; "
    "ask for the release again."
)


class BuildLost(Exception):
    """Another process has taken the build over."""


def free(now: datetime) -> Q:
    """Builds that nobody is at."""
    silent = Q(beat_at=None) | Q(beat_at__lt=now - STALE)
    return Q(state=Build.State.QUEUED) | (Q(state=Build.State.RUNNING) & silent)


def claim(build_id: int, mine: str) -> Build | None:
    """None where another process has it, or nobody needs to any more."""
    now = timezone.now()
    waiting = Build.objects.filter(free(now), pk=build_id, attempts__lt=MOST_ATTEMPTS)
    taken = waiting.update(
        state=Build.State.RUNNING, claim=mine, beat_at=now, attempts=F("attempts") + 1
    )
    return Build.objects.select_related("campaign").get(pk=build_id) if taken else None


class Beat(AbstractContextManager["Beat"]):
    """Tells the build's row how far it is, from a thread with a connection of its own.

    Within a transaction of the caller's nobody else sees that row, so that nobody is told.
    """

    def __init__(self, build: Build, shares: dict[str, int], progress: Progress) -> None:
        """`shares`: thousandths of the whole by stage; `progress` counts them."""
        self._mine = Build.objects.filter(pk=build.pk, claim=build.claim, state=Build.State.RUNNING)
        self._shares = shares
        self._progress = progress
        self._stage = ""
        self._begun = self._done = 0  # thousandths
        self._lost = False
        self._ended = threading.Event()
        self._thread = None if connection.in_atomic_block else threading.Thread(target=self._beat)

    def __enter__(self) -> "Beat":
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

    def begin(self, stage: str, units: int) -> Progress:
        """Whatever came before the stage is done."""
        self._stage = stage
        stages = list(self._shares)
        self._begun = sum(self._shares[each] for each in stages[: stages.index(stage)])
        self._reach(self._begun)
        counted = 0

        def count(increment: int) -> None:
            nonlocal counted
            counted += increment
            part = min(counted / units, 1.0) if units else 1.0
            self._reach(self._begun + int(self._shares[stage] * part))

        return count

    def end(self) -> None:
        """All is done, and the build's row says so: a beat since then has found nothing to tell."""
        self._count(sum(self._shares.values()))

    def _reach(self, done: int) -> None:
        if self._lost:
            raise BuildLost
        self._count(done)

    def _count(self, done: int) -> None:
        self._progress(done - self._done)
        self._done = done

    def _beat(self) -> None:
        try:
            while not self._ended.wait(BEAT_SECONDS):
                self._tell()
        finally:
            connection.close()

    def _tell(self) -> None:
        try:
            told = self._mine.update(beat_at=timezone.now(), stage=self._stage, done=self._done)
        except OperationalError as error:  # busy, or away for a moment: in a second again
            log.warning("a build could not say that it goes on: %s", error)
            connection.close()
        else:
            self._lost = not told
