"""How often a control is answered as it should be."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from annotation.protocol.labels.label_error import wilson_interval


class ControlRate(NamedTuple):
    """What workers said of one control, or of many."""

    control: int
    answered: int
    right: int  # of these, as expected
    workers: int

    @property
    def share(self) -> float | None:
        return self.right / self.answered if self.answered else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's, of 95 %."""
        return wilson_interval(self.right, self.answered) if self.answered else None


def worst_first(rates: Iterable[ControlRate]) -> list[ControlRate]:
    """By the upper end of the interval: one slip of one answer says less than 50 of 100."""
    return sorted(rates, key=_best_case)


def _best_case(rate: ControlRate) -> tuple[float, int, int]:
    return _highest(rate.right, rate.answered), -rate.answered, rate.control


@cache  # few numbers, many controls
def _highest(right: int, answered: int) -> float:
    return wilson_interval(right, answered)[1] if answered else 1.0
