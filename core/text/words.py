"""Numbers as people read them."""

DASH = "—"


def plural(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def percent(share: float | None, digits: int = 1, *, unknown: str = DASH) -> str:
    return unknown if share is None else f"{share:.{digits}%}"
