"""Sums of money as people write and read them, in the site's currency."""

import pytest
from pytest_django import Settings

from core.errors import UserError
from core.text.money import cents_of, money, unit


@pytest.mark.parametrize(
    ("currency", "sign", "word"),
    [("USD", "$", "dollars"), ("EUR", "€", "euros"), ("GBP", "£", "pounds")],
)
def test_a_site_reads_and_writes_its_own_currency_alone(
    settings: Settings, currency: str, sign: str, word: str
) -> None:
    settings.CURRENCY = currency
    assert (money(123_456), unit()) == (f"{sign}1,234.56", word)
    assert money(12.3456, decimals=3) == f"{sign}0.123"
    assert [cents_of(text) for text in ("120", "120.5", f"{sign}0.07")] == [12_000, 12_050, 7]
    others = {"$", "€", "£"} - {sign}
    for text in (*(f"{other}5" for other in others), "", "-1", "1e3", "1,5", "1.005", f"{sign}"):
        with pytest.raises(UserError, match=f"is no sum of money: write {word} such as 120 or"):
            cents_of(text)


def test_another_currency_keeps_its_sign_on_any_site(settings: Settings) -> None:
    settings.CURRENCY = "GBP"
    assert money(250, currency="USD") == "$2.50"
