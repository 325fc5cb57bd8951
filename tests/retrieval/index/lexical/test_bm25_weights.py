import pytest

from retrieval.index.lexical.bm25_weights import words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How do I make TEA, at 90°C?", ["how", "do", "i", "make", "tea", "at", "90", "c"]),
        ("snake_case isn't one", ["snake", "case", "isn", "t", "one"]),
        ("Straße \uff21\uff22\uff23 \ufb01ne", ["strasse", "abc", "fine"]),
        ("cafe\u0301 café", ["café", "café"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("什么是雨\uff1fok", ["什", "么", "是", "雨", "ok"]),
        ("お茶ー", ["お", "茶", "ー"]),
        ("한국어 질문", ["한국어", "질문"]),
        ("ชา\u0e19\u0e49\u0e33", ["ช", "า", "น\u0e49\u0e4d", "า"]),
        ("\t\n ?! 🎉 ", []),
        ("", []),
    ],
)
def test_words_are_found_in_any_script(text: str, expected: list[str]) -> None:
    assert words(text) == expected
