"""How often labels are wrong, by kind, from those that experts judged without seeing votes.

Labels are of four strata: Yes or No, and all votes agree or some differ. Within a stratum those
that experts judged are a random sample, and each stratum counts as often as it occurs: so experts
may be asked oftener where votes differ, and no weights need be kept. In a stratum the votes' own
claim of how likely its label is wrong is the guess of a prediction-powered mean (PPI++,
Angelopoulos, Duchi and Zrnic 2023).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.labels.label_error import (
    NINETY_FIVE_PERCENT,
    KindError,
    LabelError,
    Share,
    Verdict,
    wilson_interval,
)

Floats = NDArray[np.float64]
LEAST_JUDGED = 10  # of a stratum, before it counts on its own
LEAST_OF_EACH = 5  # wrong and right ones, before guesses are used


class Pattern(NamedTuple):
    """What all labels that look alike have in common."""

    label: int
    yes: int
    no: int

    @property
    def against(self) -> int:
        return self.no if self.label else self.yes

    @property
    def agreed(self) -> bool:
        """All votes are for it, and there are some."""
        return not self.against and self.yes + self.no > 0

    @property
    def claim(self) -> float:
        """How likely the label is wrong, if its votes are a fair sample of all there could be."""
        return (self.against + 0.5) / (self.yes + self.no + 1)


@dataclass
class Audit:
    """`labels`: how many there are of each pattern, by their votes; of them those that experts
    `judged` at random, those that are `wrong`, and those that experts `decided` for good.
    `alone`: labels by experts, of which votes make none."""

    labels: Counter[Pattern] = field(default_factory=Counter)
    judged: Counter[Pattern] = field(default_factory=Counter)
    wrong: Counter[Pattern] = field(default_factory=Counter)
    decided: Counter[Pattern] = field(default_factory=Counter)
    alone: int = field(default=0, kw_only=True)

    def add(self, pattern: Pattern | None, *, decided: bool = False, labels: int = 1) -> None:
        """None: their votes make no label."""
        if pattern is None:
            self.alone += labels
            return
        self.labels[pattern] += labels
        self.decided[pattern] += decided * labels

    def judge(self, pattern: Pattern, verdict: Verdict) -> None:
        """Experts who are evenly split say nothing."""
        if verdict.yes != verdict.no:
            self.judged[pattern] += 1
            self.wrong[pattern] += verdict.label != int(verdict.yes > verdict.no)

    def part(self, belongs: Callable[[Pattern], bool]) -> Audit:
        by_pattern = self.labels, self.judged, self.wrong, self.decided
        return Audit(*(Counter({one: of[one] for one in of if belongs(one)}) for of in by_pattern))

    def halves(self, key: Callable[[Pattern], bool]) -> Sequence[Audit]:
        """Those that have labels."""
        both = self.part(key), self.part(lambda one: not key(one))
        return [half for half in both if half.labels]

    def error(self) -> LabelError | None:
        """None where none was judged."""
        judged, wrong = self.judged.total(), self.wrong.total()
        if not judged:
            return None
        strata = [stratum for half in _by_agreement(self) for stratum in _by_label(half)]
        kinds = [self._error_of(label) for label in (1, 0)]
        return LabelError(judged, wrong, *combined(strata), *kinds)

    def _error_of(self, label: int) -> KindError | None:
        kind = self.part(lambda one: one.label == label)
        judged, wrong = kind.judged.total(), kind.wrong.total()
        if not judged:
            return None
        share, part = combined(_by_agreement(kind)), kind.labels.total() / self.labels.total()
        return KindError(judged, wrong, share, Share(*(part * bound for bound in share)))


def _by_agreement(audit: Audit) -> Sequence[Audit]:
    """Whose votes agree and whose differ; as one where of one of them none was judged."""
    halves = audit.halves(lambda one: one.agreed)
    return halves if all(half.judged.total() for half in halves) else [audit]


def _by_label(half: Audit) -> Sequence[Audit]:
    kinds = half.halves(lambda one: one.label == 1)
    return kinds if all(kind.judged.total() >= LEAST_JUDGED for kind in kinds) else [half]


def combined(strata: Sequence[Audit]) -> Share:
    """The bounds by the squares of their distances from the value (MOVER)."""
    total = sum(stratum.labels.total() for stratum in strata)
    weighted = [(stratum.labels.total() / total, share_in(stratum)) for stratum in strata]
    value = sum(weight * share.value for weight, share in weighted)
    below = sqrt(sum((weight * (share.value - share.low)) ** 2 for weight, share in weighted))
    above = sqrt(sum((weight * (share.high - share.value)) ** 2 for weight, share in weighted))
    return Share(value, max(0.0, value - below), min(1.0, value + above))


def share_in(stratum: Audit) -> Share:
    """Of those that were judged where few are wrong or few right, else of as many as PPI++ makes
    of them."""
    judged, wrong = stratum.judged.total(), stratum.wrong.total()
    if min(wrong, judged - wrong) < LEAST_OF_EACH:
        return Share(wrong / judged, *interval(wrong, judged))
    claims = np.array([one.claim for one in stratum.labels])
    labels, seen, bad = (
        np.array([of[one] for one in stratum.labels])
        for of in (stratum.labels, stratum.judged, stratum.wrong)
    )
    mean = ppi_mean(
        np.repeat([1.0, 0.0], [wrong, judged - wrong]),
        np.concatenate([np.repeat(claims, bad), np.repeat(claims, seen - bad)]),
        np.repeat(claims, labels - seen),
    )
    value = min(max(mean.value, 1 / judged), 1 - 1 / judged)
    worth = value * (1 - value) / mean.error**2
    return Share(value, *interval(value * worth, worth))


def interval(wrong: float, judged: float) -> tuple[float, float]:
    """Wilson's, its lower end corrected for continuity: where few are wrong, what is true is else
    below it in 8 of 100 audits."""
    z2 = NINETY_FIVE_PERCENT**2
    spread = z2 - 2 - 1 / judged + 4 * wrong / judged * (judged - wrong + 1)
    low = (2 * wrong + z2 - 1 - NINETY_FIVE_PERCENT * sqrt(spread)) / (2 * (judged + z2))
    return (max(0.0, low) if wrong else 0.0), wilson_interval(wrong, judged)[1]


class Mean(NamedTuple):
    value: float
    error: float  # the standard one
    power: float  # how much the guesses count: 0 not at all, 1 in full


def ppi_mean(truths: Floats, guesses: Floats, others: Floats) -> Mean:
    """Of all items, by a few truths and a guess of each: the guesses' mean, put right by what the
    truths say of them. Bad guesses cost nothing: they count as much as they explain.

    `guesses`, of the items with a truth; `others`, of those without one.
    """
    ratio = len(truths) / len(others) if len(others) else np.inf
    variance = np.concatenate([guesses, others]).var(ddof=1) if len(others) else 0.0
    shared = ((truths - truths.mean()) * (guesses - guesses.mean())).mean()
    power = float(np.clip(shared / ((1 + ratio) * variance), 0, 1)) if variance > 0 else 0.0
    rectifier = truths - power * guesses
    value, spread = rectifier.mean(), rectifier.var() / len(truths)
    if power:
        value += power * others.mean()
        spread += power**2 * others.var() / len(others)
    return Mean(float(value), float(np.sqrt(spread)), power)
