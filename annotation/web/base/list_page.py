"""A campaign's long list: filters above it, its total, pages, and all of it as a file."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Generic, TypeVar, cast

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse

from annotation.analytics.campaign import snapshots
from annotation.models import Campaign
from annotation.web.base.columns import Column, Heading, heading, order_of, ordering
from annotation.web.base.filters import Filter
from annotation.web.base.layout import page
from annotation.web.base.pagination import Place, Steps, Window, key_of
from annotation.web.base.saved_views import seen
from core.files.csv_safety import harmless

F = TypeVar("F", bound=Filter)
Find = Callable[[Campaign, F, Place], Window]  # the rows that the filter leaves, from a place on
Cells = Mapping[str, Callable[[Any], object]]  # of a row, by the column's name
MONEY = "money"  # the column of what is paid, where anything is
LINES_AT_ONCE = 1000  # of a file


@dataclass(frozen=True)
class Listed(Generic[F]):
    title: str  # its template is called as it is
    what: str  # its rows are, within a sentence
    search: type[F]
    find: Find[F]
    columns: Sequence[Column]
    key: str  # the column whose order an index knows: the usual one
    figure: str  # of a snapshot: how many there are, about
    cells: Cells  # of a row of the file


def list_page(request: HttpRequest, campaign: Campaign, listed: Listed[F]) -> HttpResponse:
    """Filters that are wrong find nothing: their fields say so."""
    form = listed.search(request.GET)
    name = listed.title.lower()
    asked = {key: value for key, value in request.GET.items() if key in form.fields and value}
    context: dict[str, Any] = {"form": form, "filtered": bool(asked), "what": listed.what}
    valid = form.is_valid()
    order = order_of(request.GET.get("sort", ""), listed.columns, listed.key)
    at = _place(listed, order)
    if valid and request.GET.get("as") == "csv":
        return csv_file(f"{campaign}-{name}", listed.cells, every_row(listed, campaign, form, at))
    if valid:
        at = replace(at, start=key_of(request.GET.get("from", "")))
        context |= _window_context(request, listed.find(campaign, form, at))
        context["order"] = "" if order == listed.key else order
        headings = _headings(listed, campaign, order, context["window"].sortable)
        context["headings"] = seen(headings, request)
        if context["window"].total is None and not asked:
            newest = snapshots.newest(campaign)
            context["about"] = newest and newest.figures.get(listed.figure)
    template = f"annotation/hits/{name}.html"
    status = 200 if valid else 422
    return page(request, template, context, title=listed.title, campaign=campaign, status=status)


def _window_context(request: HttpRequest, page: Window) -> dict[str, Any]:
    steps = Steps(request.GET)
    return {"window": page, "steps": steps, "next": page.more and steps.next(page.more)}


def _place(listed: Listed[F], order: str) -> Place:
    if order.removeprefix("-") == listed.key:
        return Place(down=order.startswith("-"))
    return Place(order=ordering(order, listed.columns, ties="pk"))


def _headings(listed: Listed[F], campaign: Campaign, order: str, sortable: bool) -> list[Heading]:
    """A list that is long, or was asked for one thing, is in the order of its key alone."""
    said = campaign.policy.crowd_traits.said
    shown = order if sortable or order.removeprefix("-") == listed.key else listed.key
    return [
        heading(
            replace(
                column,
                heading=said(column.heading),
                field=column.field if sortable or column.name == listed.key else "",
            ),
            shown,
        )
        for column in listed.columns
        if column.name != MONEY or campaign.policy.reward_cents
    ]


def every_row(listed: Listed[F], campaign: Campaign, form: F, at: Place) -> Iterator[Any]:
    """Page by page: the pages are fast wherever the list is."""
    start: int | None = 0
    while start is not None:
        place = replace(at, start=start, size=LINES_AT_ONCE, counts=False)
        page = listed.find(campaign, form, place)
        yield from page.rows
        start = page.more


def iso(moment: datetime | None) -> str:
    return moment.isoformat() if moment else ""


class _Line:
    """A file that hands back what is written to it."""

    def write(self, text: str) -> str:
        return text


def csv_file(name: str, cells: Cells, rows: Iterable[Any]) -> HttpResponse:
    """Sent while it is read."""
    lines = map(csv.writer(_Line()).writerow, _lines(cells, rows))
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return cast(HttpResponse, response)


def _lines(cells: Cells, rows: Iterable[Any]) -> Iterator[Iterable[object]]:
    yield cells
    for row in rows:
        yield [harmless(cell(row)) for cell in cells.values()]
