"""Work that was done elsewhere before, as it was imported: to be looked at and taken out again."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, time
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from annotation.crowd.mturk.answers import dollars_of
from annotation.models import PastRecord
from annotation.operations.history import FORGET
from annotation.protocol.policy.crowds import MTURK
from annotation.web.base.columns import NUMBER, WIDE, Column, heading
from annotation.web.base.filters import Choice, Day, Filter, Text
from annotation.web.base.guards import permitted, staff_page
from annotation.web.base.layout import page
from annotation.web.base.list_page import Cells, csv_file
from annotation.web.base.pagination import Place, Steps, Window, key_of, window
from annotation.web.base.saved_views import seen
from core.files.csv_safety import harmless
from core.text.money import money

Kind, Status = PastRecord.Kind, PastRecord.Status
REACH = 5_000  # records that one page looks through
LINES_AT_ONCE = 1000  # of a file
BETWEEN = " | "  # values in which files differ
DECISIONS = [Status.SUBMITTED, Status.APPROVED, Status.REJECTED]
COLUMNS = [
    Column("assignment", "Assignment"),
    Column("worker", "Worker"),
    Column("title", "HIT"),
    Column("batch", "Batch", look=WIDE),
    Column("status", "Decision"),
    Column("reward", "Reward", look=NUMBER),
    Column("bonus", "Bonus", look=NUMBER),
    Column("submitted", "Submitted, UTC"),
]


class PastFilter(Filter):
    worker = Text(max_length=64, by="worker__worker_id")
    title = Text(max_length=200, label="Title of the HIT", by="part_of__title__icontains")
    batch = Text(max_length=200, by="part_of__batch__icontains")
    status = Choice([(one.value, one.label) for one in DECISIONS], label="Decision", by="status")
    since = Day(label="From", by=lambda day: Q(at__gte=datetime.combine(day, time.min, UTC)))
    until = Day(label="To", by=lambda day: Q(at__lte=datetime.combine(day, time.max, UTC)))


@require_safe
@staff_page
def history(request: HttpRequest) -> HttpResponse:
    form = PastFilter(request.GET)
    rows = _assignments()
    if form.is_valid() and request.GET.get("as") == "csv":
        rows = rows.filter(form.where())
        return csv_file("history", _cells(rows), rows.iterator(chunk_size=LINES_AT_ONCE))
    matches = None
    if form.is_valid():
        others = form.where(*form.fields.keys() - {"worker"})
        at = Place(start=key_of(request.GET.get("from", "")))
        matches = window(rows.filter(form.where("worker")), at=at, where=others, reach=REACH)
        matches = replace(matches, rows=[(one, *_money(one)) for one in matches.rows])
    return past_list(request, "history", "assignments", form, COLUMNS, matches)


def past_list(
    request: HttpRequest,
    name: str,
    what: str,
    form: Filter,
    columns: Sequence[Column],
    matches: Window | None,
) -> HttpResponse:
    """`what` its rows are; matches None: a filter is wrong, and its field says so."""
    steps = Steps(request.GET)
    content = {
        "form": form,
        "what": what,
        "window": matches,
        "steps": steps,
        "next": matches and matches.more and steps.next(matches.more),
        "filtered": any(request.GET.get(field) for field in form.fields),
        "headings": seen([heading(column, "") for column in columns], request),
        "crowd": MTURK,  # whose words these are
        "may_forget": permitted(request, FORGET),
    }
    template, status = f"annotation/workers/{name}.html", 200 if matches else 422
    title = name.replace("_", " ").capitalize()
    return page(request, template, content, title=title, status=status)


@require_safe
@staff_page
def past_assignment(request: HttpRequest, pk: int) -> HttpResponse:
    record = get_object_or_404(_assignments(), pk=pk)
    content = {
        "record": record,
        "money": _money(record),
        "parts": [
            ("Assignment", in_words(record)),
            ("HIT", in_words(record.part_of)),
            *(("Bonus", in_words(bonus)) for bonus in record.parts.all()),
        ],
    }
    return page(
        request, "annotation/workers/past_assignment.html", content, title="Past assignment"
    )


def dollars(cents: int) -> str:
    return money(cents, currency="USD")


def _assignments() -> QuerySet[PastRecord]:
    rows = PastRecord.objects.filter(kind=Kind.ASSIGNMENT).order_by("pk")
    return rows.select_related("worker", "part_of").prefetch_related("parts")


def _money(record: PastRecord) -> tuple[str, str]:
    """The reward of its HIT, and bonuses: Mechanical Turk's, whatever this site counts in."""
    reward = record.part_of.cents if record.part_of else None
    bonus = record.bonus_cents
    return "—" if reward is None else dollars(reward), dollars(bonus) if bonus else "—"


def in_words(record: PastRecord | None) -> list[tuple[str, str]]:
    fields = record.fields if record else {}
    return [(name, BETWEEN.join(values)) for name, values in fields.items()]


def _cells(rows: QuerySet[PastRecord]) -> Cells:
    """A column for each name that one of the rows has: of its HIT first, and answers last."""
    pairs = rows.prefetch_related(None).values_list("part_of__fields", "fields")
    of_hits: set[str] = set()
    own: set[str] = set()
    for of_hit, fields in pairs.iterator(chunk_size=LINES_AT_ONCE):
        of_hits.update(of_hit or ())
        own.update(fields)
    named = {str(harmless(name)): _cell(name, of_hit=True) for name in _sorted(of_hits)}
    named |= {str(harmless(name)): _cell(name, of_hit=False) for name in _sorted(own)}
    return {**CELLS, **named}


def _sorted(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (name.startswith(("Input.", "Answer.")), name))


def _cell(name: str, *, of_hit: bool) -> Any:
    def cell(record: PastRecord) -> str:
        holder = record.part_of if of_hit else record
        return BETWEEN.join(holder.fields.get(name, [])) if holder else ""

    return cell


CELLS: Cells = {
    "crowd": lambda one: one.crowd,
    "worker": lambda one: one.worker,
    "status": lambda one: one.status,
    "bonus": lambda one: dollars_of(one.bonus_cents),
}
