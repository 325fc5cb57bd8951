"""Dollars as people write and read them; everything between counts in cents."""

import re
from decimal import Decimal

from retrieval.errors import UserError

AMOUNT = re.compile(r"\$?([0-9]{1,12}(?:\.[0-9]{1,2})?)")


def cents_of(text: str) -> int:
    """Exact, without a float on the way."""
    found = AMOUNT.fullmatch(text)
    if found is None:
        raise UserError(f"{text!r} is no sum of money: write dollars such as 120 or 120.50.")
    return int(Decimal(found[1]) * 100)


def dollars(cents: int) -> str:
    return f"${Decimal(cents) / 100:,.2f}"
