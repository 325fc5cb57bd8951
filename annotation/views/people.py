"""Who works on a campaign and how, and what they have reported: for the owner."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from annotation.crowd.inhouse.members import user_names
from annotation.item_reports import read_items, reported_items
from annotation.models import Campaign
from annotation.people import (
    BARS,
    Effort,
    Person,
    effort_of,
    histogram,
    people_of,
)
from annotation.pipeline.money import dollars
from annotation.views.guards import staff_page

PAGE_SIZE = 100
TICKS = 4  # below the bars

USUAL_ORDER = "-hits"

Value = float | str


@dataclass(frozen=True)
class Column:
    name: str  # in ?sort=, with a minus before it from the highest down
    heading: str
    value: Callable[[Person], Value | None]
    words: Callable[[Any], str] = "{:,}".format

    def cell(self, person: Person) -> str:
        value = self.value(person)
        return "—" if value is None else self.words(value)


@dataclass(frozen=True)
class Heading:
    text: str
    link: str  # the ?sort= that a click asks for
    direction: str  # of the order shown: ascending, descending, or none


@dataclass(frozen=True)
class Row:
    """A worker's line of the table, in words."""

    worker: str
    name: str  # of a member of one's own team; of others nothing is known
    excluded: bool
    flags: Sequence[str]
    cells: Sequence[str]  # of the other columns


@dataclass(frozen=True)
class Bar:
    """A bar in a picture of 10 units a bar by 100."""

    x: int
    height: int
    words: str

    @property
    def y(self) -> int:
        return 100 - self.height


@dataclass(frozen=True)
class Picture:
    bars: Sequence[Bar]
    ticks: Sequence[str]


@require_safe
@staff_page
def people_page(request: HttpRequest, name: str) -> HttpResponse:
    campaign = get_object_or_404(Campaign, name=name)
    people = people_of(campaign)
    columns = _columns(campaign)
    order = _order(request.GET.get("sort", ""), columns)
    persons = Paginator(_sorted(people, order, columns), PAGE_SIZE).get_page(
        request.GET.get("page")
    )
    reported = Paginator(reported_items(campaign), PAGE_SIZE).get_page(request.GET.get("items"))
    effort = effort_of(people)
    inhouse = campaign.policy.crowd == "inhouse"
    names = user_names(person.worker for person in persons) if inhouse else {}
    return render(
        request,
        "annotation/people.html",
        {
            "campaign": campaign,
            "figures": _figures(people, effort),
            "picture": _picture(people) if effort.timed else None,
            "headings": [_heading(column, order) for column in columns],
            "persons": persons,
            "rows": [_row(person, columns, names.get(person.worker, "")) for person in persons],
            "reported": reported,
            "items": read_items(list(reported)),
        },
    )


def _columns(campaign: Campaign) -> list[Column]:
    """Where nothing is paid by the piece, there is no wage."""
    pays = campaign.policy.reward_cents > 0
    return [column for column in COLUMNS if pays or column.name != "wage"]


def _order(asked: str, columns: Sequence[Column]) -> str:
    known = {column.name for column in columns}
    return asked if asked.removeprefix("-") in known else USUAL_ORDER


def _sorted(people: Sequence[Person], order: str, columns: Sequence[Column]) -> list[Person]:
    """Who has no such figure comes last, either way; the people come in by name."""
    value = next(column.value for column in columns if column.name == order.removeprefix("-"))
    known = [(found, person) for person in people if (found := value(person)) is not None]
    known.sort(key=itemgetter(0), reverse=order.startswith("-"))
    return [person for _, person in known] + [one for one in people if value(one) is None]


def _heading(column: Column, order: str) -> Heading:
    down = f"-{column.name}"
    if order == down:
        return Heading(column.heading, column.name, "descending")
    if order == column.name:
        return Heading(column.heading, down, "ascending")
    return Heading(column.heading, column.name if column.name == "worker" else down, "none")


def _figures(people: Sequence[Person], effort: Effort) -> list[tuple[str, str, str]]:
    """What, how much, and a word more."""
    figures = [
        ("Workers", f"{len(people):,}", f"{sum(person.excluded for person in people):,} excluded"),
        ("HITs handed in", f"{sum(p.handed_in for p in people):,}", f"{effort.timed:,} timed"),
    ]
    if effort.median_ms is not None:
        figures.append(("Time a HIT", duration(effort.median_ms), "median of the active time"))
    if effort.hourly_cents_median is not None and effort.hourly_cents_pooled is not None:
        pooled = f"worker in the middle; {dollars(effort.hourly_cents_pooled)} all work together"
        figures.append(("Hourly wage", dollars(effort.hourly_cents_median), pooled))
    return figures


def _row(person: Person, columns: Sequence[Column], name: str) -> Row:
    return Row(
        worker=person.worker,
        name=name,
        excluded=person.excluded,
        flags=_flags(person),
        cells=[column.cell(person) for column in columns if column.name != "worker"],
    )


def _flags(person: Person) -> list[str]:
    """What to look at; whether it means anything, people find out."""
    flags = []
    if person.is_fast:
        flags.append("less than a third of the usual time")
    if person.is_straight:
        flags.append(f"one answer throughout in {person.straight:,} of {person.observed:,} HITs")
    return flags


def duration(ms: float) -> str:
    seconds = round(ms / 1000)
    if seconds < 60:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"


def _picture(people: Sequence[Person]) -> Picture:
    found = histogram(ms for person in people for ms in person.times_ms)
    highest = max(found.counts)
    ends = [duration(step * found.step_s * 1000) for step in range(BARS + 1)]
    bars = []
    for step, count in enumerate(found.counts):
        until = f"to {ends[step + 1]}" if step + 1 < BARS else "and longer"
        words = f"{ends[step]} {until}: {count:,}"
        # What is there is seen, however little it is.
        bars.append(Bar(10 * step, max(-(-100 * count // highest), 2 * bool(count)), words))
    return Picture(bars, [ends[BARS * tick // TICKS] for tick in range(TICKS)])


COLUMNS = (
    Column("worker", "Worker", lambda person: person.worker, str),
    Column("hits", "HITs", lambda person: person.handed_in),
    Column("failed", "Failed", lambda person: person.failed),
    Column("time", "Median time", lambda person: person.median_ms, duration),
    Column("wage", "Hourly wage", lambda person: person.hourly_cents, dollars),
    Column("straight", "One answer", lambda person: person.straight_share, "{:.0%}".format),
    Column("changes", "Changes a HIT", lambda person: person.changes_per_hit, "{:.1f}".format),
    Column("reports", "Reports", lambda person: person.reports),
)
