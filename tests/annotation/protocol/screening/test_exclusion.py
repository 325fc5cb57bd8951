from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.policy.policy import Policy
from annotation.protocol.screening.exclusion import (
    ExclusionDecision,
    Review,
    evidence,
    exclusions,
    is_crossed,
)
from tests.annotation.protocol.steady import steady

PAPER = Policy()
SEQUENTIAL = Policy(exclusion_rule="sequential")


def reviews(worker: str, outcomes: str) -> list[Review]:
    """ "." for a passed assignment, "x" for a failed one."""
    return [Review(worker, outcome == ".") for outcome in outcomes]


def crossing(outcomes: str, policy: Policy = PAPER) -> tuple[int, int] | None:
    decided = exclusions(reviews("bob", outcomes), policy)
    assert len(decided) <= 1
    return (decided[0].failures, decided[0].reviewed) if decided else None


@pytest.mark.parametrize(
    ("outcomes", "figures"),
    [
        ("", None),
        ("." * 50, None),
        ("x", None),  # a newcomer's first slip is 100 %
        ("x" * 9, None),
        ("x" * 10, (10, 10)),
        ("x" * 12, (10, 10)),
        ("x" + "." * 9, None),  # exactly 10 %
        ("." * 9 + "x", None),
        ("xx" + "." * 7, None),  # two of nine, but too few reviewed
        ("xx" + "." * 8, (2, 10)),
        ("." * 8 + "xx", (2, 10)),
        ("." * 9 + "xx", (2, 11)),
        ("." * 9 + "x" + "." * 8 + "x", (2, 19)),  # 10.5 %
        ("." * 9 + "x" + "." * 9 + "x", None),  # 2 of 20 is exactly 10 % again
        ("." * 28 + "xx", None),
        ("." * 27 + "xxx", None),  # 3 of 30
        ("." * 26 + "xxx", (3, 29)),
    ],
)
def test_more_than_a_tenth_failed_from_the_tenth_review_on_excludes(
    outcomes: str, figures: tuple[int, int] | None
) -> None:
    assert crossing(outcomes) == figures


def test_once_crossed_no_success_undoes_it() -> None:
    assert crossing("xx" + "." * 8 + "." * 90) == (2, 10)  # 2 of 100 in the end


def test_the_figures_stay_those_of_the_crossing() -> None:
    assert crossing("xx" + "." * 8 + "xxxx") == (2, 10)


@pytest.mark.parametrize(
    ("rate", "outcomes", "figures"),
    [
        (0.15, "." * 17 + "xxx", None),  # 3 of 20: the float 0.15 is a little less
        (0.29, "." * 71 + "x" * 29, None),
        (0.29, "." * 71 + "x" * 30, (30, 101)),
        (0.0, "." * 10 + "x", (1, 11)),
        (0.0, "." * 40, None),
        (1.0, "x" * 40, None),
        (0.00001, "." * 99 + "x", (1, 100)),
    ],
)
def test_the_rate_is_the_decimal_as_written(
    rate: float, outcomes: str, figures: tuple[int, int] | None
) -> None:
    assert crossing(outcomes, Policy(max_failure_rate=rate)) == figures


def test_min_assignments_of_one_excludes_at_the_first_slip() -> None:
    assert crossing("x", Policy(min_assignments=1)) == (1, 1)
    assert crossing(".x", Policy(min_assignments=1)) == (1, 2)


def test_a_small_cast_is_judged_each_by_their_own_work() -> None:
    sequence = []
    for ada, bob, eve in zip("." * 12, "x" + "." * 10 + "x", "x" * 12, strict=True):
        sequence += [
            Review("ada", ada == "."),
            Review("bob", bob == "."),
            Review("eve", eve == "."),
        ]
    assert exclusions(sequence, PAPER) == [
        ExclusionDecision("eve", failures=10, reviewed=10, position=29),
        ExclusionDecision("bob", failures=2, reviewed=12, position=34),
    ]


def test_decisions_stand_in_the_order_of_crossing() -> None:
    sequence = reviews("zoe", "x" * 10) + reviews("ada", "x" * 10)
    assert [each.worker for each in exclusions(sequence, PAPER)] == ["zoe", "ada"]


def test_the_reviews_may_come_from_an_iterator() -> None:
    assert len(exclusions(iter(reviews("eve", "x" * 10)), PAPER)) == 1


policies = st.builds(
    Policy,
    max_failure_rate=st.sampled_from([0.0, 0.05, 0.1, 0.15, 0.3, 0.5, 1.0]),
    min_assignments=st.integers(1, 12),
)
histories = st.lists(
    st.builds(Review, st.sampled_from(["ada", "bob", "eve"]), st.sampled_from([True, True, False])),
    max_size=60,
)


def by_recounting_every_prefix(
    history: list[Review], policy: Policy
) -> Iterator[ExclusionDecision]:
    rate = Fraction(round(policy.max_failure_rate * 100), 100)
    excluded = set()
    for end in range(1, len(history) + 1):
        worker = history[end - 1].worker
        own = [review.passed for review in history[:end] if review.worker == worker]
        crossed = Fraction(own.count(False), len(own)) > rate
        if worker not in excluded and len(own) >= policy.min_assignments and crossed:
            excluded.add(worker)
            yield ExclusionDecision(worker, own.count(False), len(own), end - 1)


@steady
@given(history=histories, policy=policies)
def test_exclusions_are_those_of_a_recount_of_every_prefix(
    history: list[Review], policy: Policy
) -> None:
    assert exclusions(history, policy) == list(by_recounting_every_prefix(history, policy))


@steady
@given(history=histories, policy=policies)
def test_nobodys_exclusion_depends_on_the_reviews_of_others(
    history: list[Review], policy: Policy
) -> None:
    together = {(one.worker, one.failures, one.reviewed) for one in exclusions(history, policy)}
    alone = {
        (one.worker, one.failures, one.reviewed)
        for worker in ("ada", "bob", "eve")
        for one in exclusions([each for each in history if each.worker == worker], policy)
    }
    assert together == alone


@steady
@given(history=histories, later=histories, policy=policies)
def test_what_comes_later_changes_no_decision_taken(
    history: list[Review], later: list[Review], policy: Policy
) -> None:
    before = exclusions(history, policy)
    assert exclusions(history + later, policy)[: len(before)] == before


@pytest.mark.parametrize(
    ("failures", "reviewed", "value"),
    [
        (0, 0, 1.0),
        (1, 1, 5.5),  # the mean of 0.19 to 0.91 is 0.55, and a tenth is allowed
        (0, 1, 0.5),  # and of 0.81 to 0.09 it is 0.45, of nine tenths
        (2, 2, 35.65),
        (3, 3, 255.475),
    ],
)
def test_the_evidence_by_hand(failures: int, reviewed: int, value: float) -> None:
    assert evidence(failures, reviewed, 0.1) == pytest.approx(value)


@pytest.mark.parametrize(
    ("outcomes", "figures"),
    [
        ("xx", None),
        ("xxx", (3, 3)),  # it needs no tenth review
        ("." * 9 + "xx", None),  # which the paper's rule excludes
        ("." * 9 + "x" * 8, (7, 16)),
        ("." * 400, None),
    ],
)
def test_the_sequential_rule_by_hand(outcomes: str, figures: tuple[int, int] | None) -> None:
    assert crossing(outcomes, SEQUENTIAL) == figures


@pytest.mark.parametrize(("rate", "outcomes", "figures"), [(0.0, ".x", (1, 2)), (1.0, "xxx", None)])
def test_none_or_all_may_fail(rate: float, outcomes: str, figures: tuple[int, int] | None) -> None:
    policy = Policy(exclusion_rule="sequential", max_failure_rate=rate)
    assert crossing(outcomes, policy) == figures
    assert evidence(5000, 5000, 0.1) > 100  # nor does a float end


@given(st.integers(0, 300), st.integers(0, 300), st.sampled_from([0.02, 0.1, 0.3]))
def test_the_next_review_of_an_honest_worker_is_expected_to_add_no_evidence(
    failures: int, passed: int, allowed: float
) -> None:
    reviewed = failures + passed
    after = [evidence(failures + failed, reviewed + 1, allowed) for failed in (0, 1)]
    expected = (1 - allowed) * after[0] + allowed * after[1]
    now = evidence(failures, reviewed, allowed)
    assert expected <= now * (1 + 1e-9)


def test_of_ten_thousand_honest_workers_one_in_a_hundred_is_excluded_at_most() -> None:
    """However often one looks: here after each of 300 reviews. They fail as often as allowed; the
    paper's rule excludes most of them. Both catch spammers soon."""
    reviews, workers = 300, 10_000
    random = np.random.default_rng(7)
    share = {}
    for policy in (SEQUENTIAL, PAPER):
        line = np.array(
            [
                next((k for k in range(n + 1) if is_crossed(k, n, policy)), reviews + 1)
                for n in range(1, reviews + 1)
            ]
        )
        for rate in (0.1, 0.5):
            failures = (random.random((workers, reviews)) < rate).cumsum(axis=1)
            crossed = failures >= line
            share[policy.exclusion_rule, rate] = crossed.any(axis=1).mean()
            if rate == 0.5:
                assert np.median(crossed.argmax(axis=1) + 1) <= 11
    assert share["sequential", 0.1] <= 0.01
    assert share["share", 0.1] > 0.5  # the paper's rule, of the same people
    assert share["sequential", 0.5] == share["share", 0.5] == 1
