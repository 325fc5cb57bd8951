"""Calls to the crowd, a batch at a time: in threads, or one by one where its record is ours."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from typing import TypeVar

from django.conf import settings

from annotation.crowd.port import Crowd

CALLS_A_THREAD = 32  # in one batch: what is claimed, or stored, together

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Caller:
    batch: int
    _pool: ThreadPoolExecutor | None

    def each(self, call: Callable[[Asked], Answer], asked: Iterable[Asked]) -> list[Answer]:
        """The answers in the order asked, when all are there."""
        if self._pool is None:
            return list(map(call, asked))
        # What the log lines are about is known in this thread: each call takes it along.
        with_context = [(copy_context(), each) for each in asked]
        return list(self._pool.map(lambda one: one[0].run(call, one[1]), with_context))


@contextmanager
def calling(crowd: Crowd, *, threads: int | None = None) -> Iterator[Caller]:
    threads = threads or settings.CROWD_THREADS
    batch = threads * CALLS_A_THREAD
    if crowd.site.is_local:  # a thread of its own would only take a connection of its own
        yield Caller(batch, None)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield Caller(batch, pool)
