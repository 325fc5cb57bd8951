"""Processes that share a Redis share the rate of calls to the crowd, and its pauses."""

import json
import logging
import subprocess
import sys
import time
import uuid

import pytest
import redis

from annotation.api.base.throttling import Counts
from annotation.crowd.port import CrowdError
from annotation.crowd.rate_limit import RateLimiter
from demo.processes import ROOT
from demo.services import Services

pytestmark = pytest.mark.services

# What another process does: makes calls, then prints when they were let through.
CALLER = """
import json, sys, time
from annotation.crowd.rate_limit import RateLimiter
name, storage, calls_per_second, calls = sys.argv[1:]
rate = RateLimiter(name, storage=storage, calls_per_second=int(calls_per_second))
times = []
for _ in range(int(calls)):
    rate.acquire()
    times.append(time.time())
print(json.dumps(times))
"""


@pytest.fixture
def name() -> str:
    """Of a crowd that no other test has called."""
    return f"crowd {uuid.uuid4()}"


def caller(
    name: str, services: Services, *, calls_per_second: int, calls: int
) -> subprocess.Popen[str]:
    arguments = [name, services.broker_url, str(calls_per_second), str(calls)]
    return subprocess.Popen(
        [sys.executable, "-c", CALLER, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )


def times_of(process: subprocess.Popen[str]) -> list[float]:
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return [float(at) for at in json.loads(output)]


def test_two_processes_together_keep_to_the_rate(services: Services, name: str) -> None:
    callers = [caller(name, services, calls_per_second=20, calls=30) for _ in range(2)]
    times = sorted(at for process in callers for at in times_of(process))
    assert len(times) == 60
    assert times[-1] - times[0] >= 1.9
    # A process may be late to look at the clock after it was let through.
    assert all(times[i + 24] - times[i] > 1 for i in range(36))


def test_a_throttled_process_holds_the_others_back(services: Services, name: str) -> None:
    rate = RateLimiter(name, storage=services.broker_url, calls_per_second=0)
    rate.penalise()  # for a second
    rate.acquire()
    began = time.time()
    rate.penalise()  # for two
    (at,) = times_of(caller(name, services, calls_per_second=0, calls=1))
    assert 1.9 <= at - began < 10


def test_a_redis_that_was_killed_and_is_back_goes_unnoticed(
    services: Services, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    rate = RateLimiter(name, storage=services.broker_url, calls_per_second=5)
    rate.acquire()
    services.restart_redis()
    rate.acquire()
    assert caplog.records == []


def test_while_redis_is_away_a_process_counts_for_itself(
    services: Services,
    name: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rate = RateLimiter(name, storage=services.broker_url, calls_per_second=0, most_wait=0)
    rate.acquire()
    redis.Redis.from_url(services.broker_url).shutdown(nosave=True)
    try:
        with caplog.at_level(logging.WARNING):
            rate.penalise()
            for _ in range(10):
                with pytest.raises(CrowdError):
                    rate.acquire()
    finally:
        services.start()
    assert len(caplog.records) == 1
    # Later it asks Redis again, which has been told of no pause.
    later = time.time() + 60
    monkeypatch.setattr(time, "time", lambda: later)
    rate.acquire()
    rate.penalise()
    with pytest.raises(CrowdError):
        RateLimiter(name, storage=services.broker_url, calls_per_second=0, most_wait=0).acquire()


def test_calls_to_the_api_are_counted_by_all_processes_together(services: Services) -> None:
    who = f"user {uuid.uuid4()}"
    one, other = Counts(services.broker_url), Counts(services.broker_url)
    assert [one.admit(who, 3), other.admit(who, 3), one.admit(who, 3)] == [True] * 3
    assert [one.admit(who, 3), other.admit(who, 3)] == [False] * 2
    assert 0 < other.wait(who, 3) <= 60
    assert other.admit(f"another {who}", 3)
