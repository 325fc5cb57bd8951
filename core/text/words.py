"""Numbers as people read them."""

from collections.abc import Sequence

DASH = "—"


def plural(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def percent(share: float | None, digits: int = 1, *, unknown: str = DASH) -> str:
    return unknown if share is None else f"{share:.{digits}%}"


def listed(names: Sequence[str], most: int) -> str:
    """The first of them, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")
