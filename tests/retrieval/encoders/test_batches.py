from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.encoders.batches import ahead, packed

LENGTHS = st.lists(st.integers(0, 300), max_size=60)
BUDGETS = st.integers(1, 1_000)


def batches_of(lengths: list[int], budget: int) -> list[list[int]]:
    return [rows.tolist() for rows in packed(np.array(lengths, np.int64), budget)]


@pytest.mark.parametrize(
    ("lengths", "budget", "batches"),
    [
        ([], 10, []),
        ([3], 10, [[0]]),
        ([2, 5, 3], 10, [[1, 2], [0]]),
        ([2, 5, 5, 2, 2], 10, [[1, 2], [0, 3, 4]]),
        ([1, 40, 1], 10, [[1], [0, 2]]),
        ([0, 0, 0], 2, [[0, 1], [2]]),
    ],
)
def test_batches_by_hand(lengths: list[int], budget: int, batches: list[list[int]]) -> None:
    assert batches_of(lengths, budget) == batches


@given(LENGTHS, BUDGETS)
def test_every_text_is_in_one_batch(lengths: list[int], budget: int) -> None:
    found = [row for rows in batches_of(lengths, budget) for row in rows]
    assert sorted(found) == list(range(len(lengths)))


@given(LENGTHS, BUDGETS)
def test_padded_to_its_longest_a_batch_keeps_the_budget_unless_it_is_a_single_text(
    lengths: list[int], budget: int
) -> None:
    for rows in batches_of(lengths, budget):
        assert len(rows) == 1 or len(rows) * max(lengths[row] for row in rows) <= budget


@given(LENGTHS, BUDGETS)
def test_no_batch_has_room_for_the_text_that_follows_it(lengths: list[int], budget: int) -> None:
    batches = batches_of(lengths, budget)
    for rows in batches[:-1]:
        assert (len(rows) + 1) * max(1, lengths[rows[0]]) > budget


@given(LENGTHS, BUDGETS)
def test_the_longest_texts_come_first_and_equal_ones_in_their_order(
    lengths: list[int], budget: int
) -> None:
    found = [row for rows in batches_of(lengths, budget) for row in rows]
    assert found == sorted(range(len(lengths)), key=lambda row: (-lengths[row], row))


@given(st.lists(st.integers(), max_size=30), st.integers(1, 5))
def test_items_made_ahead_are_the_same_in_the_same_order(items: list[int], depth: int) -> None:
    assert list(ahead(items, depth)) == items


def test_only_so_many_items_are_made_ahead() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    taking: Any = ahead(items(), 3)
    assert list(islice(taking, 10)) == list(range(10))
    taking.close()
    assert 10 <= len(made) <= 13


def test_what_breaks_in_the_making_is_raised_in_its_turn() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ZeroDivisionError

    taking = ahead(items(), 4)
    assert next(taking) == 1
    with pytest.raises(ZeroDivisionError):
        next(taking)
