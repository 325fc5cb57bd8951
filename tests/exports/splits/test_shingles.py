"""When texts are equal, and what they have in common."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exports.splits.shingles import incidence, jaccard, letters, nearest, plain, shingles
from tests.annotation.protocol.steady import steady

SOME = "abc?! -ü日本\u200f'"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How do I bake bread?", "  how do i BAKE\tbread ?!"),
        ("What's a man-made lake", "what s a man made lake"),
        ("\uff26\uff55\uff4c\uff4c width", "full width"),
        ("STRASSE", "straße"),
        ("e\u0301cole", "école"),
        ("どうやってパンを焼きますか\uff1f", "どうやって パンを焼きますか。"),
        ("كيف أخبز الخبز؟", "\u200fكيف أخبز الخبز\u200f"),
        ("كت\u200cب", "كتب"),
        ("???", " ??? "),
        ("", "\n"),
    ],
)
def test_case_space_punctuation_and_invisible_marks_make_no_difference(
    one: str, other: str
) -> None:
    assert letters(one) == letters(other)


@pytest.mark.parametrize(
    ("one", "other"), [("?!", "#"), ("🙂", "🙁"), ("a", "b"), ("日本", "日"), ("", "a"), ("1", "2")]
)
def test_texts_of_little_else_stay_apart(one: str, other: str) -> None:
    assert letters(one) != letters(other)


def test_shingles_are_the_trigrams_of_the_plain_text_and_its_ends() -> None:
    assert plain("Is tea-time,  now?") == "is tea time now"
    assert shingles("To be!") == {" to", "to ", "o b", " be", "be "}
    assert shingles("a") == {" a "}
    assert shingles("") == {"  "}
    assert shingles("日本語") == {" 日本", "日本語", "本語 "}


def test_the_jaccard_is_exact_where_a_threshold_lies_on_it() -> None:
    """7 of 10."""
    texts = ["abcdefg", "abcdefghi", "zz"]
    table = incidence(texts)
    found = jaccard(table, np.array([0, 0, 1]), np.array([1, 2, 1]))
    assert found.tolist() == [6 / 10, 0, 1]
    assert nearest(table[:1], table[1:]).tolist() == [6 / 10]


@steady
@given(
    left=st.lists(st.text(SOME, max_size=12), max_size=8),
    right=st.lists(st.text(SOME, max_size=12), min_size=1, max_size=8),
)
def test_the_nearest_is_the_highest_of_all_pairs(left: list[str], right: list[str]) -> None:
    def overlap(one: str, other: str) -> float:
        common = len(shingles(one) & shingles(other))
        return common / len(shingles(one) | shingles(other))

    table = incidence([*left, *right])
    found = nearest(table[: len(left)], table[len(left) :])
    assert found.tolist() == [max(overlap(one, other) for other in right) for one in left]
