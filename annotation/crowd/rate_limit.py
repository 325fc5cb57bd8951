"""One rate of calls for all threads and processes, and one pause for all when the crowd asks.

With Redis every process counts in the same place; without it, each process counts for itself.
"""

import logging
import random
import time
from collections.abc import Callable
from threading import Lock
from typing import TypeVar

from limits import RateLimitItemPerSecond
from limits.errors import StorageError
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import MovingWindowRateLimiter
from redis import ConnectionPool
from redis.backoff import NoBackoff
from redis.retry import Retry

from annotation.crowd.port import CrowdError

LOCAL = "memory://"
MOST_WAIT = 20.0  # seconds that one attempt of a call may be held back
LONGEST_PAUSE = 64  # seconds; the first pause takes one, each further one twice as long
_FORGOTTEN = 600  # seconds after which the pauses start small again, whatever was answered
_FRESH = 0.05  # seconds for which "no pause" is believed without asking again
_POLL = 0.1  # Redis tells the rest of a pause in whole seconds
_REDIS_TIMEOUT = 1.0
_REDIS_ABSENCE = 10.0  # seconds for which a Redis that failed is not asked again

_Answer = TypeVar("_Answer")

log = logging.getLogger(__name__)


class _Counts:
    """What is counted in one storage, by all who share it."""

    def __init__(
        self, storage: MemoryStorage | RedisStorage, name: str, calls_per_second: int
    ) -> None:
        self._storage = storage
        self._window = MovingWindowRateLimiter(storage)
        self._rate = RateLimitItemPerSecond(calls_per_second) if calls_per_second else None
        self._name = name
        self._pause = f"pause/{name}"
        self._pauses = f"pauses/{name}"

    def admit(self) -> bool:
        """Whether a call may be made now; it is counted."""
        return self._rate is None or self._window.hit(self._rate, self._name)

    def pause_left(self) -> float:
        if not self._storage.get(self._pause):
            return 0.0
        return max(self._storage.get_expiry(self._pause) - time.time(), _POLL)

    def pause(self) -> None:
        """Twice as long as the last one. One at a time: calls sent before it do not add to it."""
        number = self._storage.get(self._pauses)
        seconds = min(2**number, LONGEST_PAUSE)
        if self._storage.incr(self._pause, seconds) == 1:
            self._storage.clear(self._pauses)  # else it would keep its first expiry
            self._storage.incr(self._pauses, _FORGOTTEN, number + 1)

    def forgive(self) -> None:
        self._storage.clear(self._pauses)


class RateLimiter:
    """Asked before each call to the endpoint `name`; told what came of it."""

    def __init__(
        self,
        name: str,
        *,
        calls_per_second: int,  # 0: as many as there are; the pauses are kept all the same
        storage: str = LOCAL,
        most_wait: float = MOST_WAIT,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._name = name
        self._interval = 1 / calls_per_second if calls_per_second else 0.0
        self._most_wait = most_wait
        self._sleep = sleep
        self._local = _Counts(MemoryStorage(), name, calls_per_second)
        self._shared = None
        if storage != LOCAL:
            self._shared = _Counts(redis_storage(storage), name, calls_per_second)
        self._lock = Lock()
        self._shared_lost = False
        self._ask_shared_at = 0.0
        self._no_pause_until = 0.0
        self._was_paused = False

    def acquire(self) -> None:
        """Return when a call may be made; CrowdError where that takes too long."""
        latest = time.time() + self._most_wait
        while wait := self._wait():
            if time.time() + wait > latest:
                raise _too_often(self._name)
            self._sleep(wait)

    def penalise(self) -> None:
        """The crowd was asked too often: all processes pause."""
        self._ask(_Counts.pause)
        self._no_pause_until = 0.0

    def relieve(self) -> None:
        """The crowd has answered: after a pause, the next one is short again."""
        if self._was_paused:
            self._was_paused = False
            self._ask(_Counts.forgive)

    def _wait(self) -> float:
        """Seconds until it is worth asking again; 0: the call may be made.

        Some more or less than told: those who wait must not all come back at once.
        """
        if left := self._pause_left():
            self._was_paused = True
            return left * random.uniform(1.0, 1.5)  # noqa: S311
        if self._ask(_Counts.admit):
            return 0.0
        return self._interval * random.uniform(0.5, 1.5)  # noqa: S311

    def _pause_left(self) -> float:
        if time.time() < self._no_pause_until:
            return 0.0
        left = self._ask(_Counts.pause_left)
        if not left:
            self._no_pause_until = time.time() + _FRESH
        return left

    def _ask(self, question: Callable[[_Counts], _Answer]) -> _Answer:
        if self._shared is not None and time.time() >= self._ask_shared_at:
            try:
                answer = question(self._shared)
            except StorageError as error:
                self._lose_shared(error)
            else:
                self._shared_lost = False
                return answer
        with self._lock:  # the storage in memory is exact for one thread at a time only
            return question(self._local)

    def _lose_shared(self, error: StorageError) -> None:
        with self._lock:
            self._ask_shared_at = time.time() + _REDIS_ABSENCE
            if self._shared_lost:
                return
            self._shared_lost = True
        log.warning(
            "Redis does not answer (%s): until it does, each process keeps the rate of calls to"
            " the crowd for itself.",
            error.storage_error,
        )


def _too_often(name: str) -> CrowdError:
    return CrowdError(
        f"A call to {name} was not made, because it is called too often or has asked for a pause:"
        " try again later.",
        permanent=False,
        throttled=True,
    )


def redis_storage(url: str) -> RedisStorage:
    # A call must not wait for a Redis that is away; a connection that went stale is tried again.
    pool = ConnectionPool.from_url(
        url,
        socket_timeout=_REDIS_TIMEOUT,
        socket_connect_timeout=_REDIS_TIMEOUT,
        retry=Retry(NoBackoff(), 1),
    )
    return RedisStorage(url, connection_pool=pool, wrap_exceptions=True)
