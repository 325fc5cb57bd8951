"""Right by the proxy: normalised as SQuAD's own evaluation does, word for word."""

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.answering.answer_match import is_right, normalised


def squad(text: str) -> str:
    """The normalisation of SQuAD's evaluate-v1.1.py, its four steps in their order."""
    lower = text.lower()
    bare = "".join(sign for sign in lower if sign not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_ascii_is_normalised_as_squad_does(text: str) -> None:
    if squad(text):
        assert normalised(text) == squad(text)


@pytest.mark.parametrize(
    ("answer", "known", "right"),
    [
        ("The Eiffel Tower.", ["eiffel tower"], True),
        ("eiffel  tower", ["Louvre", "The Eiffel Tower"], True),
        ("It is the Eiffel Tower", ["Eiffel Tower"], False),
        ("Theodore", ["odore"], False),
        ("U.S.A.", ["USA"], True),
        ("1,000", ["1000"], True),
        ("\u201cCAF\u00c9\u201d", ["caf\u00e9"], True),
        ("cafe\u0301", ["caf\u00e9"], True),
        ("Stra\u00dfe", ["STRASSE"], True),
        ("A", ["a"], True),  # a vitamin
        ("A", ["The"], False),
        ("!", ["?"], False),
        ("", [""], False),
        ("yes", [], False),
    ],
)
def test_an_answer_is_right_where_it_is_a_known_one(
    answer: str, known: list[str], right: bool
) -> None:
    assert is_right(answer, known) is right


@given(st.text())
def test_what_is_normalised_stays_as_it_is(text: str) -> None:
    once = normalised(text)
    assert is_right(once, [text]) == bool(once)
