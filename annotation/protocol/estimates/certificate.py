"""Whether labels can be certified: "at most 5 % of them are wrong", with 95 % confidence.

As in PAC labelling, experts decide all labels down to some claim, the most unsure ones first, and
the rest is judged at random. The evidence is an e-value: how many times likelier what they said
is if less is wrong than the bound allows, any share alike, than at the bound. Of all campaigns
that have more wrong than the bound, at most 5 % ever reach an evidence of 20, however often and
however long one looks, for one choice of the labels that experts decide.

Labels that experts decided one by one in the rest count as the votes made them: the wrong ones
among those that were judged would be the first to be put right. Where experts were asked oftener
on some labels, these count as much less: a power below one of a likelihood ratio stays an e-value.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from math import exp, log
from typing import NamedTuple

from annotation.protocol.estimates.label_audit import Audit

CONFIDENCE = 0.95
LEAST_CERTIFIED, MOST_CERTIFIED = 0.001, 0.5  # shares of wrong labels
ENOUGH = 1 / (1 - CONFIDENCE)
SHARES = 100  # below the bound, alike likely beforehand
LARGEST = 1e6  # more evidence is as good


class Certificate(NamedTuple):
    """`rest`: the labels that experts have not decided down to some claim."""

    error: float
    labels: int
    rest: int
    judged: int  # of the rest, at random
    wrong: int
    evidence: float

    @property
    def holds(self) -> bool:
        return self.evidence >= ENOUGH


class Way(NamedTuple):
    """To a certificate: labels that experts have to decide yet, then to judge at random yet."""

    decide: int
    judge: int


def certify(audit: Audit, error: float) -> Certificate:
    rest = next(_rests(audit))
    total, labels = audit.labels.total() + audit.alone, rest.labels.total()
    allowed = error * total / labels if labels else float(total > 0)
    weight = evidence(*even_sample(rest), allowed)
    return Certificate(error, total, labels, rest.judged.total(), rest.wrong.total(), weight)


def ways(audit: Audit, error: float) -> Iterator[Way]:
    """If the rest goes on as those that were judged; the first leaves decisions as they are."""
    total = audit.labels.total() + audit.alone
    rests = list(_rests(audit))
    for rest in rests:
        labels, (judged, wrong) = rest.labels.total(), even_sample(rest)
        if not judged:
            continue
        needed = _needed(wrong / judged, error * total / labels, most=labels)
        if needed is not None:
            decide = rests[0].labels.total() - labels
            yield Way(decide, max(0, needed - int(judged)))


def evidence(judged: float, wrong: float, allowed: float) -> float:
    """Against more than the `allowed` share being wrong."""
    if not 0 < allowed < 1:
        return ENOUGH * (allowed >= 1)
    shares = [allowed * (place + 0.5) / SHARES for place in range(SHARES)]
    ratios = [
        wrong * log(share / allowed) + (judged - wrong) * log((1 - share) / (1 - allowed))
        for share in shares
    ]
    return sum(exp(min(ratio, log(LARGEST))) for ratio in ratios) / SHARES


def even_sample(rest: Audit) -> tuple[float, float]:
    """As many judged, and wrong, as if all labels had been judged as often as the least judged."""
    halves = rest.halves(lambda one: one.agreed)
    if not halves or not all(half.judged.total() for half in halves):
        return 0.0, 0.0
    rate = min(half.judged.total() / half.labels.total() for half in halves)
    wrong = sum(
        rate * half.labels.total() / half.judged.total() * half.wrong.total() for half in halves
    )
    return rate * rest.labels.total(), wrong


def _rests(audit: Audit) -> Iterator[Audit]:
    """After what experts have decided, then after each claim more that they could decide."""
    unsure_first = sorted(audit.labels, key=lambda one: (-one.claim, one))
    claims = [list(group) for _, group in groupby(unsure_first, key=lambda one: one.claim)]
    while claims and all(audit.decided[one] == audit.labels[one] for one in claims[0]):
        claims.pop(0)
    for place in range(len(claims) + 1):
        kept = {one for group in claims[place:] for one in group}
        yield audit.part(kept.__contains__)


def _needed(share: float, allowed: float, *, most: int) -> int | None:
    """Judged labels, of which this share is wrong."""
    if evidence(most, share * most, allowed) < ENOUGH:
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        if evidence(middle, share * middle, allowed) >= ENOUGH:
            high = middle
        else:
            low = middle
    return high
