"""Workers to exclude: those who failed more than a tenth of their HITs (QUADRo, section 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from annotation.protocol.policy.policy import Policy


@dataclass(frozen=True)
class Review:
    """The outcome of one reviewed submission."""

    worker: str
    passed: bool


@dataclass(frozen=True)
class ExclusionDecision:
    """A worker to exclude, with the figures at the review that crossed the line."""

    worker: str
    failures: int
    reviewed: int
    position: int  # of that review in the sequence, counted from 0


def exclusions(reviews: Iterable[Review], policy: Policy) -> list[ExclusionDecision]:
    """Who is to be excluded, in the order of crossing; `reviews` in order of submission.

    The rate is tested after each review, and once crossed no later success undoes it.
    """
    # The decimal as written: the float 0.15 is a little less than three of twenty.
    most = Fraction(str(policy.max_failure_rate))
    reviewed: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    decisions: dict[str, ExclusionDecision] = {}
    for position, review in enumerate(reviews):
        worker = review.worker
        reviewed[worker] += 1
        failures[worker] += not review.passed
        if worker in decisions or reviewed[worker] < policy.min_assignments:
            continue
        if failures[worker] > most * reviewed[worker]:
            decisions[worker] = ExclusionDecision(
                worker, failures[worker], reviewed[worker], position
            )
    return list(decisions.values())


def is_near(failures: int, reviewed: int, policy: Policy) -> bool:
    """Whether one more failed HIT is enough, now or when so many are reviewed that it is tested."""
    most = Fraction(str(policy.max_failure_rate))
    return failures > 0 and failures + 1 > most * max(reviewed + 1, policy.min_assignments)
