"""Dollars as people write and read them; everything between counts in cents."""

import re
from decimal import Decimal

from annotation.protocol.estimates.cost import is_free
from annotation.protocol.policy.policy import Policy
from core.errors import UserError

AMOUNT = re.compile(r"\$?([0-9]{1,12}(?:\.[0-9]{1,2})?)")


def cents_of(text: str) -> int:
    """Exact, without a float on the way."""
    match = AMOUNT.fullmatch(text)
    if match is None:
        raise UserError(f"{text!r} is no sum of money: write dollars such as 120 or 120.50.")
    return int(Decimal(match[1]) * 100)


def dollars(cents: int) -> str:
    return f"${Decimal(cents) / 100:,.2f}"


def no_money(policy: Policy) -> dict[str, object]:
    """What is said in place of sums, where there are none."""
    return {"money": "none: the work is unpaid"} if is_free(policy) else {}


def clause(words: str, cents: int) -> str:
    """A part of a sentence, with the sum where `{}` stands; nothing where no money is at stake."""
    return words.format(dollars(cents)) if cents else ""
