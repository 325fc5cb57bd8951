"""Pages of long lists, found by key: nothing is counted, and the last page is as fast as the first.

Where an index leads to what is asked for, a page is its next rows. Elsewhere a page looks through
so many keys and no more: it may come out short, and says so, and the next one goes on there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

PAGE_SIZE = 50
# What leaves some of the rows within reach; where that takes a look at them, it is given them.
Where = Q | Callable[[QuerySet[Any]], Q]


@dataclass(frozen=True)
class Window:
    rows: Sequence[Any]
    start: int  # keys from here on; 0: the list's beginning
    more: int | None  # where the next page starts; None: there is none
    searched: int = 0  # keys it was looked for in, where the search ended before the list did
    note: str = ""  # what else was left out


def key_of(text: str) -> int:
    """Of an address; anything that is no key means the beginning."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def window(
    rows: QuerySet[Any], *, start: int, key: str = "pk", where: Where | None = None, reach: int
) -> Window:
    """The next rows by key. `where` is what no index helps with: it looks through `reach` keys."""
    rows = rows.filter(**{f"{key}__gte": start}).order_by(key)
    if not where:
        return _page(list(rows[: PAGE_SIZE + 1]), start, key)
    # From here on there is something: keys of other campaigns lie between.
    first = rows.values_list(key, flat=True).first()
    if first is None:
        return Window([], start, None)
    end = first + reach
    near = rows.filter(**{f"{key}__lt": end})
    found = list(near.filter(where(near) if callable(where) else where)[: PAGE_SIZE + 1])
    if len(found) > PAGE_SIZE:
        return _page(found, start, key)
    if rows.filter(**{f"{key}__gte": end}).values_list(key, flat=True).first() is None:
        return Window(found, start, None)
    return Window(found, start, end, searched=reach)


def _page(found: Sequence[Any], start: int, key: str) -> Window:
    more = getattr(found[PAGE_SIZE], key) if len(found) > PAGE_SIZE else None
    return Window(found[:PAGE_SIZE], start, more)
