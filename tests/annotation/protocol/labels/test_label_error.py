"""The crowd's error against experts, with intervals worked out by hand."""

import pytest

from annotation.protocol.labels.label_error import (
    Verdict,
    label_error,
    pair_agreement,
    wilson_interval,
)

WRONG, RIGHT = Verdict(label=1, yes=0, no=1), Verdict(label=1, yes=1, no=0)


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    [
        # z = 1.959964, z2 = 3.841459. Centre (0.1 + 3.841459 / 20) / 1.3841459 = 0.2110131,
        # half 1.959964 / 1.3841459 * sqrt(0.09 / 10 + 3.841459 / 400) = 0.1931369.
        (1, 10, 0.0178762, 0.4041500),
        # Half of 100: 0.5 -+ 1.959964 / 1.03841459 * sqrt(0.0025 + 3.841459 / 40000).
        (50, 100, 0.4038315, 0.5961685),
        # None of 20: the upper bound is z2 / (20 + z2) = 3.841459 / 23.841459.
        (0, 20, 0.0, 0.1611252),
        # All of 20: the lower one is 20 / 23.841459.
        (20, 20, 0.8388748, 1.0),
        (1, 1, 0.2065493, 1.0),  # 1 / 4.841459
    ],
)
def test_the_interval_is_wilsons(part: int, whole: int, low: float, high: float) -> None:
    assert wilson_interval(part, whole) == pytest.approx((low, high), abs=5e-7)


def test_an_interval_without_errors_begins_at_exactly_zero() -> None:
    assert [wilson_interval(0, n)[0] for n in range(1, 500)] == [0.0] * 499
    assert [wilson_interval(n, n)[1] for n in range(1, 500)] == [1.0] * 499


def test_the_error_is_the_share_of_labels_that_experts_contradict() -> None:
    error = label_error([WRONG, *[RIGHT] * 9])
    assert error is not None
    assert (error.triplets, error.wrong, error.share) == (10, 1, 0.1)
    assert (error.low, error.high) == pytest.approx((0.0178762, 0.4041500), abs=5e-7)


def test_both_labels_can_be_wrong() -> None:
    error = label_error([Verdict(label=0, yes=1, no=0), Verdict(label=1, yes=0, no=1)])
    assert error is not None
    assert error.wrong == 2


def test_several_experts_count_by_their_strict_majority() -> None:
    error = label_error([Verdict(label=0, yes=2, no=1), Verdict(label=0, yes=1, no=2)])
    assert error is not None
    assert (error.triplets, error.wrong) == (2, 1)


def test_a_tie_among_experts_leaves_the_triplet_out() -> None:
    error = label_error([RIGHT, Verdict(label=0, yes=1, no=1), Verdict(label=0, yes=2, no=2)])
    assert error is not None
    assert (error.triplets, error.wrong) == (1, 0)


@pytest.mark.parametrize(
    "verdicts", [[], [Verdict(label=1, yes=0, no=0)], [Verdict(label=1, yes=1, no=1)]]
)
def test_without_an_experts_word_there_is_no_error(verdicts: list[Verdict]) -> None:
    assert label_error(verdicts) is None


def test_experts_agree_by_the_pairs_of_them_on_the_same_triplet() -> None:
    # One pair that agrees; one that does not; of three experts' three pairs one agrees.
    assert pair_agreement([(2, 0), (1, 1), (1, 2)]) == pytest.approx(2 / 5)


@pytest.mark.parametrize("counts", [[], [(1, 0), (0, 1)]])
def test_experts_who_never_met_have_no_agreement(counts: list[tuple[int, int]]) -> None:
    assert pair_agreement(counts) is None
