"""Calls to the crowd keep to one rate, and all pause when the crowd asks for it."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from socket import create_server

import pytest

from annotation.crowd.port import CrowdError
from annotation.crowd.rate_limit import LONGEST_PAUSE, RateLimiter


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = time.time()
        self.slept: list[float] = []

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Put under the library too, which takes no clock."""
    clock = Clock()
    monkeypatch.setattr(time, "time", clock.time)
    return clock


@pytest.fixture
def limiter(clock: Clock) -> Callable[..., RateLimiter]:
    def make(calls_per_second: int = 0, *, most_wait: float = 1e6) -> RateLimiter:
        return RateLimiter(
            "crowd", calls_per_second=calls_per_second, most_wait=most_wait, sleep=clock.sleep
        )

    return make


def most_in_a_second(times: list[float]) -> int:
    times = sorted(times)
    return max(sum(start <= at < start + 1 for at in times) for start in times)


def test_no_second_has_more_calls_than_the_rate(
    clock: Clock, limiter: Callable[..., RateLimiter]
) -> None:
    rate, times = limiter(10), []
    for _ in range(100):
        rate.acquire()
        times.append(clock.now)
    assert most_in_a_second(times) == 10
    assert 9 <= times[-1] - times[0] < 12


def test_threads_share_the_rate() -> None:
    rate = RateLimiter("crowd", calls_per_second=50)

    def call(_: int) -> float:
        rate.acquire()
        return time.time()

    with ThreadPoolExecutor(16) as threads:
        times = list(threads.map(call, range(120)))
    # A thread may be late to look at the clock after it was let through.
    assert most_in_a_second(times) <= 55
    assert max(times) - min(times) >= 1.9


def test_a_rate_of_zero_holds_nobody_back(
    clock: Clock, limiter: Callable[..., RateLimiter]
) -> None:
    rate = limiter(0)
    for _ in range(1000):
        rate.acquire()
    assert clock.slept == []


def test_each_pause_is_twice_as_long_as_the_last(
    clock: Clock, limiter: Callable[..., RateLimiter]
) -> None:
    rate = limiter()
    for seconds in (1, 2, 4, 8, 16, 32, LONGEST_PAUSE, LONGEST_PAUSE):
        began = clock.now
        rate.penalise()
        rate.acquire()
        assert seconds <= clock.now - began <= 1.5 * seconds


def test_those_who_wait_do_not_all_come_back_at_once(
    clock: Clock, limiter: Callable[..., RateLimiter]
) -> None:
    ends = set()
    for _ in range(20):
        rate = limiter()
        began = clock.now
        rate.penalise()
        rate.acquire()
        ends.add(round(clock.now - began, 2))
    assert len(ends) > 5


def test_many_throttled_at_once_make_one_pause(
    clock: Clock, limiter: Callable[..., RateLimiter]
) -> None:
    rate, began = limiter(), clock.now
    for _ in range(16):
        rate.penalise()
    rate.acquire()
    assert clock.now - began <= 1.5


def test_a_good_answer_makes_the_next_pause_short_again(
    clock: Clock, limiter: Callable[..., RateLimiter]
) -> None:
    rate = limiter()
    for _ in range(5):
        rate.penalise()
        rate.acquire()
    rate.relieve()
    began = clock.now
    rate.penalise()
    rate.acquire()
    assert clock.now - began <= 1.5


def test_an_answer_to_a_call_sent_before_the_pause_forgives_nothing(
    clock: Clock, limiter: Callable[..., RateLimiter]
) -> None:
    rate = limiter()
    rate.penalise()
    rate.relieve()
    rate.acquire()
    began = clock.now
    rate.penalise()
    rate.acquire()
    assert clock.now - began >= 2


def test_whoever_would_wait_too_long_is_refused_without_waiting(
    clock: Clock, limiter: Callable[..., RateLimiter]
) -> None:
    rate = limiter(most_wait=0.5)
    rate.penalise()
    with pytest.raises(CrowdError, match="try again later") as refusal:
        rate.acquire()
    assert (refusal.value.throttled, refusal.value.permanent) == (True, False)
    assert clock.slept == []


def test_a_crowd_too_busy_for_all_refuses_the_last(
    clock: Clock, limiter: Callable[..., RateLimiter]
) -> None:
    rate, other = limiter(1, most_wait=0.2), limiter(1)
    rate.acquire()
    with pytest.raises(CrowdError):
        rate.acquire()
    other.acquire()  # another limiter, in memory of its own


def test_without_its_redis_a_process_counts_for_itself_and_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with create_server(("127.0.0.1", 0)) as closed:
        url = f"redis://127.0.0.1:{closed.getsockname()[1]}/0"
    rate = RateLimiter("crowd", calls_per_second=5, storage=url, most_wait=0.05)
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            rate.acquire()
        with pytest.raises(CrowdError):
            rate.acquire()
    (record,) = caplog.records
    assert "Redis does not answer" in record.getMessage()


def test_a_redis_that_stays_away_is_told_of_once(
    caplog: pytest.LogCaptureFixture, clock: Clock
) -> None:
    with create_server(("127.0.0.1", 0)) as closed:
        url = f"redis://127.0.0.1:{closed.getsockname()[1]}/0"
    rate = RateLimiter("crowd", calls_per_second=5, storage=url, sleep=clock.sleep)
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            rate.acquire()
            clock.sleep(3600)
    assert len(caplog.records) == 1
