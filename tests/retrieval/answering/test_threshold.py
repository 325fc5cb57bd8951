"""The threshold: by hand, and against trying every one of them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.answering.threshold import (
    Threshold,
    TopAnswer,
    choose_threshold,
    top_answer,
)
from retrieval.ranking.thresholds import By

RIGHT = {"right": True, "answerable": True}
WRONG = {"right": False, "answerable": True}
HOPELESS = {"right": False, "answerable": False}

BY_HAND: dict[By, float] = {"f1": 0.6, "accuracy": 0.6, "precision": 0.9}

answers = st.builds(
    lambda score, kind: TopAnswer(score, **kind),
    st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0]),
    st.sampled_from([RIGHT, WRONG, HOPELESS]),
)


def worth_at(threshold: float, known: list[TopAnswer], by: By) -> Fraction:
    precision, _, f1 = f1_at(threshold, known)
    good = sum(one.right if one.score >= threshold else not one.answerable for one in known)
    return {"f1": f1, "accuracy": Fraction(good, len(known)), "precision": precision}[by]


def f1_at(threshold: float, known: list[TopAnswer]) -> tuple[Fraction, Fraction, Fraction]:
    """By the definition: precision, recall and their harmonic mean."""
    answered = [one for one in known if one.score >= threshold]
    right = sum(one.right for one in answered)
    answerable = sum(one.answerable for one in known)
    precision = Fraction(right, len(answered)) if answered else Fraction()
    recall = Fraction(right, answerable) if answerable else Fraction()
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both else Fraction()


def test_five_queries_by_hand() -> None:
    """Answering the best three: 2 of 3 right, 2 of 4 answerable, F1 4/7. Two: 1/2, 1/4, 1/3.
    One: 1, 1/4, 2/5. Four: 2/4, 2/4, 1/2. All: 2/5, 2/4, 4/9."""
    known = [
        TopAnswer(0.9, **RIGHT),
        TopAnswer(0.8, **WRONG),
        TopAnswer(0.6, **RIGHT),
        TopAnswer(0.3, **HOPELESS),
        TopAnswer(0.2, **WRONG),
    ]
    assert choose_threshold(known) == Threshold(
        value=0.6, precision=2 / 3, recall=0.5, f1=4 / 7, coverage=0.6
    )
    # Right, or rightly without an answer: 1 + 1 of 5 with one answered or two, 2 + 1 with three.
    for by, value in BY_HAND.items():
        found = choose_threshold(known, by)
        assert found is not None
        assert found.value == value


def test_queries_of_one_score_are_answered_together() -> None:
    known = [TopAnswer(0.5, **RIGHT), TopAnswer(0.5, **HOPELESS), TopAnswer(0.5, **HOPELESS)]
    found = choose_threshold(known)
    assert found == Threshold(value=0.5, precision=1 / 3, recall=1, f1=0.5, coverage=1)


def test_of_two_that_are_as_good_the_lower_is_chosen() -> None:
    """One: 2 / (1 + 3) = 1/2. Five: 2 x 2 / (5 + 3) = 1/2."""
    known = [
        TopAnswer(0.9, **RIGHT),
        TopAnswer(0.8, **HOPELESS),
        TopAnswer(0.7, **HOPELESS),
        TopAnswer(0.6, **HOPELESS),
        TopAnswer(0.5, **RIGHT),
        TopAnswer(0.4, **WRONG),
    ]
    found = choose_threshold(known)
    assert found is not None
    assert (found.value, found.f1) == (0.5, 0.5)


@pytest.mark.parametrize(
    "known",
    [
        [],
        [TopAnswer(0.9, **HOPELESS)],
        [TopAnswer(0.9, **WRONG), TopAnswer(0.1, **WRONG)],
    ],
)
def test_where_nothing_is_right_there_is_no_threshold(known: list[TopAnswer]) -> None:
    assert choose_threshold(known) is None


@given(st.lists(answers, max_size=12), st.sampled_from(list(BY_HAND)))
def test_no_other_threshold_is_better_and_no_lower_one_as_good(
    known: list[TopAnswer], by: By
) -> None:
    found = choose_threshold(known, by)
    tried = {one.score: worth_at(one.score, known, by) for one in known}
    if not any(one.right for one in known):
        assert found is None
        return
    highest = max(tried.values())
    assert found is not None
    assert found.value == min(score for score, worth in tried.items() if worth == highest)
    precision, recall, f1 = f1_at(found.value, known)
    assert (found.precision, found.recall, found.f1) == pytest.approx(
        (float(precision), float(recall), float(f1))
    )
    assert found.coverage == sum(one.score >= found.value for one in known) / len(known)


def test_a_query_s_best_candidate_is_the_first_of_the_highest() -> None:
    assert top_answer([0.2, 0.7, 0.7], [1, 0, 1]) == TopAnswer(0.7, **WRONG)
    assert top_answer([0.2, 0.7], [0, 1]) == TopAnswer(0.7, **RIGHT)
    assert top_answer([0.2, 0.7], [0, 0]) == TopAnswer(0.7, **HOPELESS)


def test_a_right_answer_to_a_query_without_one_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="among the candidates"):
        TopAnswer(0.5, right=True, answerable=False)
