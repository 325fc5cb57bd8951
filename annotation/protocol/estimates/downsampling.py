"""Which records of a time series may go: the older, the fewer are kept. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

# Up to this age, one in each step of so much time: some hundreds at most, however long it goes on.
STEPS = (
    (timedelta(hours=1), timedelta(seconds=10)),
    (timedelta(days=1), timedelta(minutes=15)),
    (timedelta(days=30), timedelta(hours=6)),
)
LAST_STEP = timedelta(days=1)


def superfluous(times: Sequence[datetime], now: datetime) -> list[int]:
    """The places in `times`, which ascend, of those to drop: of each step the last one stays."""
    steps = [_step(at, now) for at in times]
    return [place for place, (step, following) in enumerate(pairwise(steps)) if step == following]


def _step(at: datetime, now: datetime) -> tuple[timedelta, float]:
    """By the clock, not by age: so a step keeps its bounds while it grows older."""
    length = next((step for age, step in STEPS if now - at <= age), LAST_STEP)
    return length, at.timestamp() // length.total_seconds()
