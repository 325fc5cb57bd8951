"""Workers to exclude: those who failed more than a tenth of their HITs (QUADRo, section 4).

The paper's rule looks again after each review: of workers who fail exactly a tenth, most cross the
line sooner or later. The sequential rule asks the same question with a bound on its mistakes,
however often one looks: at most FALSE_EXCLUSION of the workers who fail so often, or less, are
ever excluded. Its evidence is an e-value (Ville 1939; Ramdas et al., 2023).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, log

from annotation.protocol.policy.policy import Policy

FALSE_EXCLUSION = 0.01
BETS = 9  # shares between the allowed one and 1 that the evidence bets on, as much on each


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
    reviewed: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    decisions: dict[str, ExclusionDecision] = {}
    for position, review in enumerate(reviews):
        worker = review.worker
        reviewed[worker] += 1
        failures[worker] += not review.passed
        if worker not in decisions and is_crossed(failures[worker], reviewed[worker], policy):
            figures = failures[worker], reviewed[worker]
            decisions[worker] = ExclusionDecision(worker, *figures, position)
    return list(decisions.values())


def is_crossed(failures: float, reviewed: int, policy: Policy) -> bool:
    # The decimal as written: the float 0.15 is a little less than three of twenty.
    allowed = Fraction(str(policy.max_failure_rate))
    if policy.exclusion_rule == "sequential":
        return evidence(failures, reviewed, float(allowed)) >= 1 / FALSE_EXCLUSION
    return reviewed >= policy.min_assignments and failures > allowed * reviewed


def is_near(failures: int, reviewed: int, policy: Policy) -> bool:
    """Whether one more failed HIT is enough, now or when so many are reviewed that it is tested."""
    tested = reviewed + 1
    if policy.exclusion_rule == "share":
        tested = max(tested, policy.min_assignments)
    return failures > 0 and is_crossed(failures + 1, tested, policy)


def evidence(failures: float, reviewed: int, allowed: float) -> float:
    """An e-value against a worker who fails at most `allowed` of all: at any time it is as high as
    x for at most one in x of such workers.

    The mean, over higher shares, of how much more likely each makes what was seen.
    """
    if allowed == 0:
        return inf if failures else 1.0
    if allowed == 1:
        return 1.0
    higher = [allowed + (1 - allowed) * bet / (BETS + 1) for bet in range(1, BETS + 1)]
    logs = [
        failures * log(share / allowed) + (reviewed - failures) * log((1 - share) / (1 - allowed))
        for share in higher
    ]
    return sum(exp(min(each, 700.0)) for each in logs) / BETS  # a float ends at exp(709)
