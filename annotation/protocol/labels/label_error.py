"""How often the crowd's label is not the one that experts give."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from typing import NamedTuple

NINETY_FIVE_PERCENT = 1.959964  # the normal quantile of a two-sided interval


class Verdict(NamedTuple):
    """The crowd's label of a triplet, and how many experts said what of it."""

    label: int
    yes: int
    no: int


class Share(NamedTuple):
    """With the bounds of its 95 % interval."""

    value: float
    low: float
    high: float


class KindError(NamedTuple):
    """Of one label: `share` of the labels that could be wrong so, `of_all` of all labels."""

    triplets: int  # that experts judged
    wrong: int
    share: Share
    of_all: Share


class LabelError(NamedTuple):
    """`share` of all labels, with the bounds of its 95 % interval; `wrong` of the `triplets` that
    experts judged. A kind is None where they judged none of its labels."""

    triplets: int
    wrong: int
    share: float
    low: float
    high: float
    false_positives: KindError | None = None
    false_negatives: KindError | None = None


def label_error(verdicts: Iterable[Verdict]) -> LabelError | None:
    """Over the triplets on which the experts have a strict majority; None without any."""
    triplets = wrong = 0
    for verdict in verdicts:
        if verdict.yes == verdict.no:
            continue
        triplets += 1
        wrong += verdict.label != int(verdict.yes > verdict.no)
    if not triplets:
        return None
    return LabelError(triplets, wrong, wrong / triplets, *wilson_interval(wrong, triplets))


def wilson_interval(part: float, whole: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a share: of use for few triplets and for shares near 0, too."""
    share, z2 = part / whole, NINETY_FIVE_PERCENT**2
    centre = (share + z2 / (2 * whole)) / (1 + z2 / whole)
    spread = share * (1 - share) / whole + z2 / (4 * whole**2)
    half = NINETY_FIVE_PERCENT / (1 + z2 / whole) * sqrt(spread)
    # Where none or all are wrong one bound is exact, and rounding alone would move it.
    return (0.0 if part == 0 else centre - half), (1.0 if part == whole else centre + half)


def pair_agreement(counts: Iterable[tuple[int, int]]) -> float | None:
    """The share of equal pairs among all pairs of experts on the same triplet.

    `counts`: (yes, no) of each triplet. None where no two experts met.
    """
    pairs = equal = 0
    for yes, no in counts:
        both = yes + no
        pairs += both * (both - 1) // 2
        equal += yes * (yes - 1) // 2 + no * (no - 1) // 2
    return equal / pairs if pairs else None
