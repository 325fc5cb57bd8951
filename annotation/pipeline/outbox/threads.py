"""Calls to the crowd, a batch at a time: in threads, or one by one where its record is ours."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from time import monotonic
from typing import TypeVar

from django.conf import settings

from annotation.crowd.port import Crowd

CALLS_A_THREAD = 32  # in one batch: what is stored together, and the most that is claimed
FEWEST_CALLS_A_THREAD = 8  # that are claimed: at first, and where they take long
BEATS = 6  # while a claim lasts

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Caller:
    batch: int
    fewest: int
    _pool: ThreadPoolExecutor | None

    def share(self, made: int, seconds: float) -> int:
        """How many to claim, where so many calls took so long: few, since they wait for a process
        that dies, but as many as are made between two beats.
        """
        fitting = int(made * _between_beats() / max(seconds, 1e-3))
        return max(self.fewest, min(fitting, self.batch))

    def each(
        self,
        call: Callable[[Asked], Answer],
        asked: Iterable[Asked],
        *,
        beat: Callable[[], object] = lambda: None,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> list[Answer]:
        """The answers in the order asked, when all are there.

        `meanwhile` runs once in this thread, beside the calls of other threads; without others,
        before them. Then `beat` is called now and then in this thread: without others, between
        calls.
        """
        pulse = _Pulse(beat)
        if self._pool is None:
            meanwhile()
            return [pulse.after(call(each)) for each in asked]
        # What the log lines are about is known in this thread: each call takes it along.
        calls = [self._pool.submit(copy_context().run, call, each) for each in asked]
        try:
            meanwhile()
            return [pulse.until(one) for one in calls]
        finally:
            for one in calls:
                one.cancel()


class _Pulse:
    def __init__(self, beat: Callable[[], object]) -> None:
        self._beat = beat
        self._rest = _between_beats()
        self._due = monotonic() + self._rest

    def until(self, answer: Future[Answer]) -> Answer:
        while not answer.done():
            wait([answer], timeout=max(0.0, self._due - monotonic()))
            self._beat_if_due()
        return answer.result()

    def after(self, answer: Answer) -> Answer:
        self._beat_if_due()
        return answer

    def _beat_if_due(self) -> None:
        if monotonic() >= self._due:
            self._beat()
            self._due = monotonic() + self._rest


def _between_beats() -> float:
    return float(settings.CLAIM_SECONDS / BEATS)


@contextmanager
def calling(crowd: Crowd, *, threads: int | None = None) -> Iterator[Caller]:
    threads = threads or settings.CROWD_THREADS
    sizes = threads * CALLS_A_THREAD, threads * FEWEST_CALLS_A_THREAD
    if crowd.site.is_local:  # a thread of its own would only take a connection of its own
        yield Caller(*((1, 1) if crowd.site.is_slow else sizes), None)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield Caller(*sizes, pool)
