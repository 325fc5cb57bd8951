import math
from array import array
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exports.evaluation.pair_metrics import pairwise, threshold_of_probabilities, threshold_on_dev
from exports.evaluation.scoring import Pairs

NAN = math.nan
DEV = Path("dev.run")
# Few scores, so that many tie; NaN: left out of the run.
ROWS = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from([-3.0, 0.0, 0.25, 0.5, 1e-9, 1e30, NAN])),
    min_size=1,
    max_size=20,
).filter(lambda rows: not all(math.isnan(score) for _, score in rows))


def pairs(*rows: tuple[int, float]) -> Pairs:
    return Pairs(bytearray(row[0] for row in rows), array("d", (row[1] for row in rows)))


def auc_by_hand(rows: list[tuple[int, float]]) -> Fraction | None:
    """How often a positive lies above a negative, a tie counting a half."""
    scores = [(label, -math.inf if math.isnan(score) else score) for label, score in rows]
    positive = [score for label, score in scores if label]
    negative = [score for label, score in scores if not label]
    if not positive or not negative:
        return None
    wins = sum(Fraction((p > n) + (p >= n), 2) for p, n in product(positive, negative))
    return wins / (len(positive) * len(negative))


def f1_by_hand(rows: list[tuple[int, float]], threshold: float) -> Fraction | None:
    hit = sum(label for label, score in rows if score >= threshold)
    taken = sum(score >= threshold for _, score in rows)
    either = taken + sum(label for label, _ in rows)
    return Fraction(2 * hit, either) if either else None


def test_the_figures_of_six_pairs_are_those_found_by_hand() -> None:
    six = pairs((1, 0.9), (0, 0.8), (1, 0.6), (0, 0.6), (0, 0.1), (1, NAN))
    # At 0.6: two of three positives and two of three negatives are taken.
    # AUC: 0.9 is above all three; 0.6 above one, level with one; what was left out above none.
    assert pairwise(six, 0.6) == pytest.approx(
        {"Accuracy": 3 / 6, "F1": 2 * 2 / (4 + 3), "ROC-AUC": (3 + 1.5 + 0) / 9}
    )


@given(ROWS)
def test_the_area_is_how_often_a_positive_lies_above_a_negative(
    rows: list[tuple[int, float]],
) -> None:
    expected = auc_by_hand(rows)
    found = pairwise(pairs(*rows), None)
    assert found["ROC-AUC"] == (None if expected is None else pytest.approx(float(expected)))
    assert (found["Accuracy"], found["F1"]) == (None, None)


@given(ROWS, st.sampled_from([-4.0, 0.0, 0.3, 0.5, 2.0]))
def test_accuracy_and_f1_are_what_their_definitions_say(
    rows: list[tuple[int, float]], threshold: float
) -> None:
    found = pairwise(pairs(*rows), threshold)
    right = sum(label == (score >= threshold) for label, score in rows)
    expected = f1_by_hand(rows, threshold)
    assert found["Accuracy"] == pytest.approx(right / len(rows))
    assert found["F1"] == (None if expected is None else pytest.approx(float(expected)))


@given(ROWS.filter(lambda rows: any(label for label, _ in rows)))
def test_the_threshold_has_the_best_f1_and_is_the_lowest_that_has(
    rows: list[tuple[int, float]],
) -> None:
    tried = {score for _, score in rows if not math.isnan(score)}
    best = max((f1_by_hand(rows, score) or 0, -score) for score in tried)
    assert threshold_on_dev(pairs(*rows), DEV).value == -best[1]


def test_of_equal_thresholds_the_lowest_is_taken() -> None:
    # At 0.9: 2 x 1 / (1 + 2); at 0.4: 2 x 2 / (4 + 2).
    tied = pairs((1, 0.9), (0, 0.8), (0, 0.7), (1, 0.4))
    chosen = threshold_on_dev(tied, DEV)
    assert (chosen.value, chosen.reason) == (0.4, "the highest F1 on dev.run")


def test_no_threshold_takes_in_what_the_run_leaves_out() -> None:
    found = pairwise(pairs((1, -5.0), (1, NAN)), -1e9)
    assert (found["Accuracy"], found["F1"]) == (0.5, 2 / 3)


def test_without_a_positive_on_dev_there_is_no_threshold() -> None:
    chosen = threshold_on_dev(pairs((0, 0.9), (0, 0.1)), DEV)
    assert (chosen.value, chosen.reason) == (None, "none, as no pair of dev.run is positive")


@pytest.mark.parametrize("label", [0, 1])
def test_pairs_of_one_label_have_no_area(label: int) -> None:
    assert pairwise(pairs((label, 0.9), (label, 0.2)), 0.5)["ROC-AUC"] is None


def test_f1_is_undefined_where_nothing_is_positive_and_nothing_is_taken() -> None:
    assert pairwise(pairs((0, 0.2), (0, 0.1)), 0.5)["F1"] is None
    assert pairwise(pairs((0, 0.8), (0, 0.1)), 0.5)["F1"] == 0


@pytest.mark.parametrize(
    ("scores", "value"),
    [((0.0, 1.0), 0.5), ((0.2, NAN), 0.5), ((-0.1, 0.9), None), ((0.3, 1.1), None)],
)
def test_a_half_is_the_threshold_of_probabilities_alone(
    scores: tuple[float, float], value: float | None
) -> None:
    chosen = threshold_of_probabilities(pairs((1, scores[0]), (0, scores[1])))
    assert chosen.value == value
    assert ("are taken as probabilities" in chosen.reason) == (value is not None)
