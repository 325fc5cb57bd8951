from __future__ import annotations

import pytest

from annotation.protocol.packing.pack import PackingError, draw_negatives


def keys(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


def never(query: str, question: str) -> bool:
    return False


def test_negatives_are_different_pairs_of_different_questions() -> None:
    drawn = draw_negatives(keys("p", 50), count=200, seed=3, too_near=never)
    assert len(set(drawn)) == len(drawn) == 200
    assert all(query != question for query, question in drawn)


def test_every_pair_can_be_drawn_and_no_more() -> None:
    drawn = draw_negatives(["a", "b", "c"], count=6, seed=3, too_near=never)
    assert sorted(drawn) == [
        ("a", "b"), ("a", "c"), ("b", "a"), ("b", "c"), ("c", "a"), ("c", "b"),
    ]  # fmt: skip
    with pytest.raises(
        PackingError, match=r"^Only 6 of 7 negative controls were found among 3 questions"
    ):
        draw_negatives(["a", "b", "c"], count=7, seed=3, too_near=never)


def test_questions_too_near_are_never_paired() -> None:
    def same_topic(query: str, question: str) -> bool:
        return query[0] == question[0]

    questions = keys("cats", 20) + keys("tax", 20)
    drawn = draw_negatives(questions, count=100, seed=3, too_near=same_topic)
    assert len(drawn) == 100
    assert not any(same_topic(*pair) for pair in drawn)


def test_negatives_that_cannot_be_found_end_in_an_error_and_not_in_a_loop() -> None:
    with pytest.raises(PackingError, match=r"^Only 0 of 2 .* a higher negative_max_cosine"):
        draw_negatives(keys("p", 9), count=2, seed=3, too_near=lambda query, question: True)


@pytest.mark.parametrize("questions", [[], ["a"], ["a", "a"]])
def test_one_question_makes_no_negative(questions: list[str]) -> None:
    with pytest.raises(PackingError, match="Only 0 of 1 negative controls"):
        draw_negatives(questions, count=1, seed=3, too_near=never)
    assert draw_negatives(questions, count=0, seed=3, too_near=never) == []


def test_negatives_depend_on_the_seed_and_not_on_the_order_of_the_questions() -> None:
    questions = keys("p", 30)
    drawn = draw_negatives(questions, count=10, seed=3, too_near=never)
    assert draw_negatives(questions[::-1], count=10, seed=3, too_near=never) == drawn
    assert draw_negatives(questions, count=10, seed=4, too_near=never) != drawn
