"""What a site counts in. All sums are in hundredths: cents, whatever the currency calls them."""

from collections.abc import Mapping
from typing import Any, Literal

Currency = Literal["USD", "EUR", "GBP"]
PAPER_CURRENCY: Currency = "USD"
SIGNS: Mapping[Currency, str] = {"USD": "$", "EUR": "€", "GBP": "£"}
NAMES: Mapping[Currency, str] = {"USD": "dollars", "EUR": "euros", "GBP": "pounds"}


def currency_of(policy: Mapping[str, Any]) -> Currency:
    """Of a policy or figures as they are written, which do not name the paper's."""
    currency: Currency = policy.get("currency", PAPER_CURRENCY)
    return currency
