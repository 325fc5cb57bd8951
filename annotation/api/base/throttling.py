"""How often an account may call: counted by all processes of the site, in Redis where there is one.

A Redis that is away keeps nobody out: until it is back, each process counts for itself.
"""

import logging
import math
import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from django.conf import settings
from limits import RateLimitItemPerMinute
from limits.errors import StorageError
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from annotation.access.throttle import address_of
from annotation.crowd.rate_limit import LOCAL, redis_storage

if TYPE_CHECKING:
    from rest_framework.views import APIView  # which loads this module

Answer = TypeVar("Answer")

ABSENCE = 10.0  # seconds for which a Redis that failed is not asked again

log = logging.getLogger(__name__)


class Counts:
    """Calls of the last minute, by whom they came from."""

    def __init__(self, storage: str) -> None:
        self._local = MovingWindowRateLimiter(MemoryStorage())
        self._shared: MovingWindowRateLimiter | None = None
        if storage != LOCAL:
            self._shared = MovingWindowRateLimiter(redis_storage(storage))
        self._ask_shared_at = 0.0

    def admit(self, who: str, most: int) -> bool:
        """Whether another call may be made; it is counted."""
        rate = RateLimitItemPerMinute(most)
        return self._ask(lambda window: window.hit(rate, "api", who))

    def wait(self, who: str, most: int) -> float:
        """Seconds until another one may be made."""
        rate = RateLimitItemPerMinute(most)
        reset = self._ask(lambda window: window.get_window_stats(rate, "api", who).reset_time)
        return max(1.0, math.ceil(reset - time.time()))

    def _ask(self, question: Callable[[MovingWindowRateLimiter], Answer]) -> Answer:
        if self._shared is not None and time.monotonic() >= self._ask_shared_at:
            try:
                return question(self._shared)
            except StorageError as error:
                self._ask_shared_at = time.monotonic() + ABSENCE
                log.warning("Redis does not answer (%s): calls are not shared.", error)
        return question(self._local)


@cache  # all requests of a process count together
def counts_in(storage: str) -> Counts:
    return Counts(storage)


class CallsPerMinute(BaseThrottle):
    """Of an account, else of an address."""

    def allow_request(self, request: Request, view: "APIView") -> bool:
        user = request.user
        self._who = f"user {user.pk}" if user.is_authenticated else address_of(request)
        return self._counts().admit(self._who, settings.API_CALLS_PER_MINUTE)

    def wait(self) -> float:
        return self._counts().wait(self._who, settings.API_CALLS_PER_MINUTE)

    def _counts(self) -> Counts:
        return counts_in(settings.CROWD_RATE_STORAGE)
