"""Workers of whom something is known from before, whether or not they have worked here."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import cast

from django.contrib.auth.models import User
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from annotation.access.roles import MANAGE_WORKERS, campaigns_where
from annotation.crowd.mturk.answers import dollars_of
from annotation.models import Campaign, Exclusion, PastRecord, Worker
from annotation.operations.history import FORGET
from annotation.web.base.columns import NUMBER, Column
from annotation.web.base.filters import Choice, Filter, Text
from annotation.web.base.guards import permitted, staff_page
from annotation.web.base.layout import page
from annotation.web.base.list_page import LINES_AT_ONCE, Cells, csv_file
from annotation.web.base.pagination import Place, key_of, window
from annotation.web.workers.history import REACH, Kind, Status, dollars, in_words, past_list

MOST_BONUSES = 20  # the newest, that are shown
MOST_CAMPAIGNS = 20  # the newest, that a worker can be excluded from by a click
BLOCKED = Exists(PastRecord.objects.filter(worker=OuterRef("pk"), status=Status.BLOCKED))
KNOWN = Exists(PastRecord.objects.filter(worker=OuterRef("pk")))
IS_WORK = Q(kind=Kind.ASSIGNMENT)
# In the order of the fields of `Past`.
COUNTS = {
    "assignments": Count("pk", filter=IS_WORK),
    "approved": Count("pk", filter=IS_WORK & Q(status=Status.APPROVED)),
    "rejected": Count("pk", filter=IS_WORK & Q(status=Status.REJECTED)),
    "paid": Sum("cents", filter=Q(kind=Kind.BONUS), default=0),
    "blocks": Count("pk", filter=Q(status=Status.BLOCKED)),
}
COLUMNS = [
    Column("worker", "Worker"),
    Column("crowd", "From"),
    Column("assignments", "Assignments", look=NUMBER),
    Column("approved", "Approved", look=NUMBER),
    Column("rejected", "Rejected", look=NUMBER),
    Column("bonus", "Bonuses", look=NUMBER),
]


class KnownFilter(Filter):
    worker = Text(max_length=64, by="worker_id__icontains")
    blocked = Choice(
        [("yes", "Blocked"), ("no", "Not blocked")],
        label="Block",
        by=lambda it: Q(BLOCKED) if it == "yes" else ~Q(BLOCKED),
    )


@dataclass(frozen=True)
class Past:
    """What is known of a worker, in numbers."""

    worker: Worker
    assignments: int
    approved: int
    rejected: int
    bonus_cents: int
    blocked: int  # records that say so

    @property
    def bonuses(self) -> str:
        return dollars(self.bonus_cents) if self.bonus_cents else "—"


@require_safe
@staff_page
def known_workers(request: HttpRequest) -> HttpResponse:
    form = KnownFilter(request.GET)
    rows = Worker.objects.filter(KNOWN).order_by("pk")
    if form.is_valid() and request.GET.get("as") == "csv":
        return csv_file("known-workers", CELLS, _every(rows.filter(form.where())))
    matches = None
    if form.is_valid():
        at = Place(start=key_of(request.GET.get("from", "")))
        matches = window(rows, at=at, where=form.where(), reach=REACH)
        matches = replace(matches, rows=_counted(matches.rows))
    return past_list(request, "known_workers", "workers", form, COLUMNS, matches)


@require_safe
@staff_page
def known_worker(request: HttpRequest, pk: int) -> HttpResponse:
    worker = get_object_or_404(Worker.objects.filter(KNOWN), pk=pk)
    bonuses = worker.past.filter(kind=Kind.BONUS).select_related("part_of").order_by("-at", "pk")
    content = {
        "worker": worker,
        "past": _counted([worker])[0],
        "about": _about(worker),
        "bonuses": [(one, dollars(one.cents or 0)) for one in bonuses[:MOST_BONUSES]],
        "campaigns": _campaigns(cast(User, request.user), worker),
        "may_forget": permitted(request, FORGET),
    }
    title = f"Worker {worker.worker_id}"
    return page(request, "annotation/workers/known_worker.html", content, title=title)


def _counted(workers: Sequence[Worker]) -> list[Past]:
    rows = PastRecord.objects.filter(worker__in=workers).order_by().values_list("worker_id")
    by_worker = {pk: numbers for pk, *numbers in rows.annotate(**COUNTS)}
    return [Past(one, *by_worker[one.pk]) for one in workers]


def _every(workers: QuerySet[Worker]) -> Iterator[Past]:
    every = workers.iterator(chunk_size=LINES_AT_ONCE)
    while some := list(islice(every, LINES_AT_ONCE)):
        yield from _counted(some)


def _about(worker: Worker) -> list[tuple[str, str]]:
    """Figures, blocks and qualifications; these by their names, where a file has given them."""
    record = worker.past.filter(kind=Kind.WORKER).first()
    about = in_words(record)
    ids = [name.removeprefix("Qualification ") for name, _ in about]
    types = PastRecord.objects.filter(kind=Kind.QUALIFICATION, crowd=worker.crowd, key__in=ids)
    names = {f"Qualification {one.key}": one.title for one in types if one.title}
    return [
        (f"Qualification “{names[name]}”" if name in names else name, value)
        for name, value in about
    ]


def _campaigns(user: User, worker: Worker) -> list[tuple[Campaign, bool]]:
    """In which they could work, and whether they are excluded there."""
    campaigns = campaigns_where(user, MANAGE_WORKERS).order_by("-pk")[:MOST_CAMPAIGNS]
    same = [one for one in campaigns if one.policy.crowd == worker.crowd]
    excluded = Exclusion.objects.filter(worker=worker, restored_at=None, campaign__in=same)
    out = set(excluded.values_list("campaign", flat=True))
    return [(one, one.pk in out) for one in same]


CELLS: Cells = {
    "worker": lambda one: one.worker,
    "crowd": lambda one: one.worker.crowd,
    "blocked": lambda one: bool(one.blocked),
    "assignments": lambda one: one.assignments,
    "approved": lambda one: one.approved,
    "rejected": lambda one: one.rejected,
    "bonuses": lambda one: dollars_of(one.bonus_cents),
}
