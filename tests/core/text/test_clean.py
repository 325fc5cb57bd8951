import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.clean import clean_text, normalise_question, pair_key, question_key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is rain?", "what is RAIN"),
        ("What is rain?", "  What \t is\nrain ? "),
        ("What is rain?", "What is rain?!..."),
        ("What is rain?", "What is rain\u2026"),
        ("What is rain?", "\uff37\uff48\uff41\uff54 is rain\uff1f"),
        ("What is rain", "What\u00a0is\u3000rain"),
        ("Stra\u00dfe?", "STRASSE"),
        ("caf\u00e9", "cafe\u0301"),
        ("what is the \ufb01nest", "What is the finest"),
        ("\u4ec0\u4e48\u662f\u96e8\u3002", "\u4ec0\u4e48\u662f\u96e8"),
    ],
)
def test_copies_of_a_question_share_their_key(one: str, other: str) -> None:
    assert question_key(one) == question_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is C?", "What is C#?"),
        ("What is C", "What is C++"),
        ("What is .NET?", "What is NET?"),
        ("Is it 1.5?", "Is it 15?"),
        ("What is rain?", "What is the rain?"),
    ],
)
def test_different_questions_have_different_keys(one: str, other: str) -> None:
    assert question_key(one) != question_key(other)


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise_question(text)
    assert normalise_question(once) == once


def test_normalising_any_single_character_twice_changes_nothing() -> None:
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)) not in {"Cn", "Cs", "Co"}:
            once = normalise_question(f"a{chr(code)}b")
            assert normalise_question(once) == once, hex(code)


@given(st.text())
def test_a_normalised_question_has_no_space_or_stop_at_its_ends(text: str) -> None:
    once = normalise_question(text)
    assert once == once.strip()
    assert not once.endswith((".", "?", "!", ","))


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_clean_text_leaves_no_control_character_and_is_stable(text: str) -> None:
    clean = clean_text(text)
    assert not any(unicodedata.category(char) == "Cc" for char in clean)
    assert clean_text(clean) == clean
    assert question_key(clean) == question_key(clean_text(clean))


def test_clean_text_drops_controls_and_keeps_html() -> None:
    assert clean_text("a\x00b\x07 <b>c</b>\r\n\td\x1fe\x85f") == "ab <b>c</b> d e f"


def test_a_pair_key_tells_the_question_from_the_answer() -> None:
    assert pair_key("a b", "c") != pair_key("a", "b c")
    assert pair_key("a", "b") == pair_key("a", "b")
    assert len(pair_key("a", "b")) == 64
