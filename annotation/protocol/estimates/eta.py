"""How fast a count grows, and how long what is left will take. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from statistics import stdev
from typing import NamedTuple

SLICES = 6
ERRORS = 2  # standard errors on either side


class Reading(NamedTuple):
    """What a count was at a time."""

    hours: float
    done: int


@dataclass(frozen=True)
class Rate:
    """What came in an hour, and the standard error of that; None: too few readings to say."""

    per_hour: float
    error: float | None


@dataclass(frozen=True)
class Eta:
    """Hours until all is done; `most` is None where the rate may as well be none."""

    hours: float
    least: float
    most: float | None


def rate_of(readings: Sequence[Reading]) -> Rate | None:
    """The mean over the time read; its error from equal slices of that time, taken as draws.

    `readings` ascend in time. None without two of them at different times.
    """
    if len(readings) < 2 or readings[-1].hours <= readings[0].hours:
        return None
    begin, span = readings[0].hours, readings[-1].hours - readings[0].hours
    mean = (readings[-1].done - readings[0].done) / span
    slices = min(SLICES, len(readings) - 1)
    if slices < 2:
        return Rate(mean, None)
    counts = [_done_at(readings, begin + span * part / slices) for part in range(slices + 1)]
    rates = [(later - earlier) * slices / span for earlier, later in pairwise(counts)]
    return Rate(mean, stdev(rates) / sqrt(slices))


def eta(left: int, rate: Rate | None) -> Eta | None:
    """None where nothing came lately: then nobody knows."""
    if rate is None or rate.per_hour <= 0:
        return None
    hours = left / rate.per_hour
    if rate.error is None:
        return Eta(hours, 0.0, None)
    slowest = rate.per_hour - ERRORS * rate.error
    return Eta(
        hours=hours,
        least=left / (rate.per_hour + ERRORS * rate.error),
        most=left / slowest if slowest > 0 else None,
    )


def _done_at(readings: Sequence[Reading], hours: float) -> float:
    """Between two readings the count is taken to grow evenly."""
    after = bisect_right(readings, hours, key=lambda reading: reading.hours)
    if after == len(readings):
        return readings[-1].done
    earlier, later = readings[after - 1], readings[after]
    share = (hours - earlier.hours) / (later.hours - earlier.hours)
    return earlier.done + share * (later.done - earlier.done)
