"""Sums of money as people write and read them; everything between counts in cents."""

import re
from decimal import Decimal

from django.conf import settings

from core.errors import UserError

# All sums are in hundredths, whatever the currency calls them.
SIGNS = {"USD": "$", "EUR": "€", "GBP": "£"}
NAMES = {"USD": "dollars", "EUR": "euros", "GBP": "pounds"}
AMOUNT = re.compile(rf"([{''.join(SIGNS.values())}]?)([0-9]{{1,12}}(?:\.[0-9]{{1,2}})?)")


def cents_of(text: str) -> int:
    """Exact, without a float on the way."""
    match = AMOUNT.fullmatch(text)
    if match is None or match[1] not in ("", SIGNS[settings.CURRENCY]):
        raise UserError(f"{text!r} is no sum of money: write {unit()} such as 120 or 120.50.")
    return int(Decimal(match[2]) * 100)


def money(cents: float, *, decimals: int = 2, currency: str | None = None) -> str:
    """In the site's currency, unless another is said."""
    return f"{SIGNS[currency or settings.CURRENCY]}{Decimal(cents) / 100:,.{decimals}f}"


def unit() -> str:
    """What the site counts in, as a word."""
    return NAMES[settings.CURRENCY]


def clause(words: str, cents: int) -> str:
    """A part of a sentence, with the sum where `{}` stands; nothing where no money is at stake."""
    return words.format(money(cents)) if cents else ""
