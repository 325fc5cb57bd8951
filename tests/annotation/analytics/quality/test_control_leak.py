"""The attacker on HITs made by hand: one thing tells the controls, or nothing does."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from annotation.analytics.quality.control_leak import LEAKS_ABOVE, ShownItem, leak_of

WORDS = [f"word{number}" for number in range(40)]


def items(hits: int = 80) -> list[ShownItem]:
    """Seven items a HIT, two of them controls, all of the same kind of texts, drawn by a seed."""
    drawn = random.Random(1)
    shown = []
    for hit in range(hits):
        controls = drawn.sample(range(7), 2)
        for position in range(7):
            query, question, answer = (" ".join(drawn.sample(WORDS, 5)) for _ in range(3))
            key = f"{drawn.getrandbits(64):016x}"
            shown.append(
                ShownItem(hit, position, key, query, question, answer, position in controls)
            )
    return shown


def with_leak(change: Callable[[ShownItem], dict[str, object]]) -> list[ShownItem]:
    return [replace(item, **change(item)) if item.is_control else item for item in items()]


def test_nothing_tells_controls_that_are_made_like_the_rest() -> None:
    auc = leak_of(items())
    assert auc is not None
    assert 0.4 < auc < LEAKS_ABOVE


@pytest.mark.parametrize(
    "change",
    [
        lambda item: {"question": f"trivia {item.question}"},  # a word
        lambda item: {"answer": item.answer[:8]},  # a length
        lambda item: {"query": "word1 word2 word3 word4 word5"},  # comes back
        lambda item: {"position": 0},
        lambda item: {"key": f"0{item.key[1:]}"},
    ],
)
def test_one_sign_is_enough_to_tell_them(change: Callable[[ShownItem], dict[str, object]]) -> None:
    auc = leak_of(with_leak(change))
    assert auc is not None
    assert auc > 0.75


def test_a_query_that_never_comes_back_tells_them_too() -> None:
    """Real ones are of four queries."""
    shown = [
        item if item.is_control else replace(item, query=WORDS[item.hit % 4]) for item in items()
    ]
    auc = leak_of(shown)
    assert auc is not None
    assert auc > 0.95


def test_of_a_few_hits_nothing_is_said() -> None:
    assert leak_of(items(hits=7)) is None
    assert leak_of(items(hits=8)) is not None
