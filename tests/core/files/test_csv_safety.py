"""What a spreadsheet would calculate is quoted; all else stays as it is."""

import pytest

from core.files.csv_safety import harmless


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_a_text_that_begins_like_a_formula_is_quoted(sign: str) -> None:
    assert harmless(f"{sign}1+1") == f"'{sign}1+1"
    assert harmless(f"a{sign}1") == f"a{sign}1"


def test_numbers_stay_and_nothing_is_an_empty_cell() -> None:
    assert (harmless(-1), harmless(None), harmless("")) == (-1, "", "")
