"""The paper's pilot: the same triplets with the answer and without it, against experts' labels.

Both conditions judge the same triplets, so their errors go together, and so does the interval
of their difference: Newcombe's (1998, method 10), of Wilson's intervals of both rates and of the
phi coefficient of the pairs, which holds for few triplets and for rates near 0 too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

from annotation.protocol.labels.label_error import LabelError, wilson_interval


class Pair(NamedTuple):
    """Of one triplet that experts decided: what both conditions made of it."""

    gold: int
    shown: int
    hidden: int


@dataclass(frozen=True)
class Comparison:
    """`difference`: the error without the answer less that with it, above 0 where answers help."""

    triplets: int
    shown: LabelError
    hidden: LabelError
    both_wrong: int
    shown_alone_wrong: int
    hidden_alone_wrong: int
    difference: float
    low: float
    high: float
    # Of the error without the answer, the share that the answer takes away; None: there is none.
    relative: float | None

    @property
    def accuracy(self) -> float:
        """With the answer."""
        return 1 - self.shown.share

    @property
    def neither_wrong(self) -> int:
        return self.triplets - self.both_wrong - self.shown_alone_wrong - self.hidden_alone_wrong


def compare(pairs: Iterable[Pair]) -> Comparison | None:
    """None without a triplet that both conditions labelled and experts decided."""
    cases = Counter((pair.shown != pair.gold, pair.hidden != pair.gold) for pair in pairs)
    if not (triplets := cases.total()):
        return None
    both, one, other = cases[True, True], cases[True, False], cases[False, True]
    shown, hidden = _error(both + one, triplets), _error(both + other, triplets)
    low, high = difference_interval(both, other, one, triplets - both - one - other)
    return Comparison(
        triplets=triplets,
        shown=shown,
        hidden=hidden,
        both_wrong=both,
        shown_alone_wrong=one,
        hidden_alone_wrong=other,
        difference=(other - one) / triplets,
        low=low,
        high=high,
        relative=(other - one) / hidden.wrong if hidden.wrong else None,
    )


def _error(wrong: int, triplets: int) -> LabelError:
    return LabelError(triplets, wrong, wrong / triplets, *wilson_interval(wrong, triplets))


def difference_interval(both: int, first: int, second: int, neither: int) -> tuple[float, float]:
    """95 % of the first share less the second, of pairs: `first` counts those of the first alone.

    Newcombe's hybrid score interval for paired proportions.
    """
    total = both + first + second + neither
    one, other = (both + first) / total, (both + second) / total
    (one_low, one_high), (other_low, other_high) = (
        wilson_interval(both + first, total),
        wilson_interval(both + second, total),
    )
    phi = _phi(both, first, second, neither)
    below = _joined(one - one_low, other_high - other, phi)
    above = _joined(one_high - one, other - other_low, phi)
    return one - other - below, one - other + above


def _joined(one: float, other: float, phi: float) -> float:
    # Rounding alone can take it below 0, where both are the same and go fully together.
    return sqrt(max(0.0, one * one - 2 * phi * one * other + other * other))


def _phi(both: int, first: int, second: int, neither: int) -> float:
    """How far the two go together, corrected for continuity where they do."""
    margins = (both + first) * (second + neither) * (both + second) * (first + neither)
    if not margins:
        return 0.0
    lean = float(both * neither - first * second)
    if lean > 0:
        lean = max(lean - (both + first + second + neither) / 2, 0.0)
    return lean / sqrt(margins)
