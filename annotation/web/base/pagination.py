"""Pages of long lists, found by key: the last page is as fast as the first.

Where an index leads to what is asked for, a page is its next rows. Elsewhere a page looks through
so many keys and no more: it may come out short, and says so, and the next one goes on there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.expressions import OrderBy
from django.http import QueryDict

PAGE_SIZE = 50
PART_SIZE = 20  # of a table that shares its page with others
MOST_COUNTED = 10_000  # rows; a longer list is not counted for a page
MOST_STEPS = 100  # back, that an address remembers
# What leaves some of the rows within reach; where that takes a look at them, it is given them.
Where = Q | Callable[[QuerySet[Any]], Q]


@dataclass(frozen=True)
class Window:
    rows: Sequence[Any]
    start: int  # where it begins; 0: at the list's beginning
    more: int | None  # where the next page starts; None: there is none
    searched: int = 0  # keys it was looked for in, where the search ended before the list did
    note: str = ""  # what else was left out
    total: int | None = None  # of all pages; None: too many to count
    sortable: bool = False  # by any column: it is short enough


@dataclass(frozen=True)
class Place:
    """In a list: where a page begins, and whether the list runs from its end."""

    start: int = 0  # a key, or how many rows come before it in an order that is no key's
    down: bool = False
    order: Sequence[OrderBy] = ()  # where it is not the key's; a long list is never sorted so
    size: int = 0  # rows of a page; 0: PAGE_SIZE
    counts: bool = True  # whether the page says how many rows there are

    @property
    def most(self) -> int:
        return self.size or PAGE_SIZE


@dataclass(frozen=True)
class Steps:
    """The links of a page to the one before it and to the next: a key tells only where to go on."""

    asked: QueryDict

    def next(self, start: object) -> str:
        here = self.asked.get("from", "")
        return self._query(str(start), [*self._trail, here][-MOST_STEPS:])

    @property
    def previous(self) -> str:
        return self._query(self._trail[-1], self._trail[:-1]) if self._trail else ""

    @property
    def first(self) -> str:
        """Empty on the first page."""
        return self._query("", []) if self.asked.get("from") else ""

    @property
    def _trail(self) -> list[str]:
        return str(self.asked["back"]).split("~") if "back" in self.asked else []

    def _query(self, start: str, back: list[str]) -> str:
        query = self.asked.copy()
        for name, value in (("from", start), ("back", "~".join(back) if back else None)):
            query.pop(name, None)
            if value is not None and (value or name == "back"):
                query[name] = value
        return f"?{query.urlencode()}"


def key_of(text: str) -> int:
    """Of an address; anything that is no key means the beginning."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def counted(rows: QuerySet[Any], where: Q | None = None) -> int | None:
    """Exactly, where there are few to look at; None where there are many."""
    few = rows.order_by()[: MOST_COUNTED + 1].count()
    if few > MOST_COUNTED:
        return None
    return rows.filter(where).count() if where else few


def window(
    rows: QuerySet[Any], *, at: Place, key: str = "pk", where: Where | None = None, reach: int
) -> Window:
    """The next rows by key. `where` is what no index helps with: it looks through `reach` keys."""
    wanted = at.counts or at.order
    total = counted(rows, None if callable(where) else where) if wanted else None
    if at.order and total is not None:
        page = in_order(rows.filter(where(rows) if callable(where) else where or Q()), at)
    else:
        page = _window(rows, at, key, where, reach)
    return replace(page, total=None if callable(where) else total, sortable=total is not None)


def in_order(rows: QuerySet[Any], at: Place) -> Window:
    """Of few rows: each page sorts all of them."""
    end = at.start + at.most
    page = list(rows.order_by(*at.order)[at.start : end + 1])
    return Window(page[: at.most], at.start, end if len(page) > at.most else None)


def _window(rows: QuerySet[Any], at: Place, key: str, where: Where | None, reach: int) -> Window:
    if at.start:
        rows = rows.filter(**{f"{key}__lt" if at.down else f"{key}__gte": at.start})
    rows = rows.order_by(f"-{key}" if at.down else key)
    if not where:
        return _page(list(rows[: at.most + 1]), at, key)
    # From here on there is something: keys of other campaigns lie between.
    first = rows.values_list(key, flat=True).first()
    if first is None:
        return Window([], at.start, None)
    end = first + 1 - reach if at.down else first + reach
    near = rows.filter(**{f"{key}__gte" if at.down else f"{key}__lt": end})
    rows_there = list(near.filter(where(near) if callable(where) else where)[: at.most + 1])
    if len(rows_there) > at.most:
        return _page(rows_there, at, key)
    beyond = rows.filter(**{f"{key}__lt" if at.down else f"{key}__gte": end})
    if beyond.values_list(key, flat=True).first() is None:
        return Window(rows_there, at.start, None)
    return Window(rows_there, at.start, end, searched=reach)


def _page(rows: Sequence[Any], at: Place, key: str) -> Window:
    """From its end, a list goes on below the last row."""
    more = None
    if len(rows) > at.most:
        more = getattr(rows[at.most - 1] if at.down else rows[at.most], key)
    return Window(rows[: at.most], at.start, more)
