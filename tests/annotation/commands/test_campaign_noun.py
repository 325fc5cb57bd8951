"""A verb's result in words."""

import pytest

from annotation.commands.campaign_noun import worded


@pytest.mark.parametrize(
    ("values", "words"), [([4, 0], "4 0"), (["one", "two"], "one; two"), ([], "nothing")]
)
def test_a_list_is_told_in_words(values: list[object], words: str) -> None:
    assert worded({"found": values}) == {"found": words}


def test_reasons_are_counted_in_words() -> None:
    counts = {"unanswered": 0, "missed": 1200, "manual": 3}
    assert worded({"rejection_reasons": counts}) == {
        "rejection_reasons": "Wrong answers to check questions (1,200); Another reason, given by a "
        "reviewer (3)"
    }
    assert worded({"rejection_reasons": dict.fromkeys(counts, 0)}) == {"rejection_reasons": None}
