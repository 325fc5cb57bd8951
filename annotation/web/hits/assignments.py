"""What workers have submitted for a campaign, in the order of its HITs."""

from dataclasses import replace

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from annotation.access.roles import SEE_VOTES
from annotation.models import Assignment, Campaign
from annotation.web.base.columns import WIDE, Column
from annotation.web.base.filters import AssignmentFilter
from annotation.web.base.guards import campaign_page
from annotation.web.base.list_page import MONEY, Listed, iso, list_page
from annotation.web.base.pagination import Place, Window, counted, in_order
from annotation.web.workers.pairs import names_of

REACH = 5_000  # HITs whose assignments one page looks through
# A HIT's assignments stand together on a page; no crowd takes more for one HIT.
MOST_OF_A_HIT = 100


class AssignmentSearch(AssignmentFilter):
    field_order = ("q",)
    q = forms.CharField(
        label="Search", required=False, max_length=64, help_text="An assignment's id at the crowd"
    )


@require_safe
@campaign_page(SEE_VOTES)
def assignments(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    return list_page(request, campaign, LISTED)


def _window_of(campaign: Campaign, asked: AssignmentSearch, at: Place) -> Window:
    page = _page_of(campaign, asked, at)
    names = names_of(campaign, {row.worker.worker_id for row in page.rows})
    for row in page.rows:
        row.worker_name = names.get(row.worker.worker_id, "")
    return page


def _page_of(campaign: Campaign, asked: AssignmentSearch, at: Place) -> Window:
    whole = Assignment.objects.filter(hit__campaign=campaign)
    rows = Assignment.with_rejection(whole).filter(asked.where())
    rows = rows.select_related("hit", "worker").defer("answers")  # which are long
    name = asked.cleaned_data["q"]
    if name or asked.cleaned_data["hit"] is not None:
        near = rows.filter(crowd_id=name) if name else rows
        return Window(list(near.order_by("hit__number", "pk")[:MOST_OF_A_HIT]), 0, None)
    is_short = bool(at.counts or at.order) and counted(whole) is not None
    page = in_order(rows, at) if at.order and is_short else _window(campaign, rows, at)
    return replace(page, total=rows.count() if at.counts and is_short else None, sortable=is_short)


def _window(campaign: Campaign, rows: QuerySet[Assignment], at: Place) -> Window:
    """By the HITs' numbers, which an index knows: assignments of campaigns lie mixed."""
    begin, end = _reach(campaign, at)
    near = rows.filter(hit__number__gte=begin, hit__number__lt=end)
    near = near.order_by("-hit__number" if at.down else "hit__number", "pk")
    page = list(near[: at.most + 1])
    if len(page) > at.most:
        # The HIT with which the page is full is shown whole.
        last = page[at.most - 1].hit.number
        page = [one for one in page[: at.most] if one.hit.number != last]
        page += near.filter(hit__number=last)[:MOST_OF_A_HIT]
        return Window(page, at.start, (last or None) if at.down else last + 1)
    beyond = {"number__lt": begin} if at.down else {"number__gte": end}
    if not campaign.hits.filter(**beyond).order_by("number").values_list("pk")[:1]:
        return Window(page, at.start, None)
    return Window(page, at.start, begin if at.down else end, searched=REACH)


def _reach(campaign: Campaign, at: Place) -> tuple[int, int]:
    """The HITs that a page looks through: from one number to below another."""
    if not at.down:
        return at.start, at.start + REACH
    last = campaign.hits.order_by("-number").values_list("number", flat=True).first() or 0
    end = at.start or last + 1
    return max(0, end - REACH), end


LISTED = Listed(
    "Assignments",
    "assignments",
    AssignmentSearch,
    _window_of,
    key="hit",
    columns=[
        Column("status", "Status", "status"),
        Column("hit", "HIT", "hit__number"),
        Column("worker", "Worker", "worker__worker_id"),
        Column("controls", "Controls", "passed"),
        Column(MONEY, "Money", "account", WIDE),
        Column("submitted", "Submitted, UTC", "submitted_at"),
        Column("assignment", "Assignment", look=WIDE),
    ],
    figure="submitted",
    cells={
        "assignment": lambda row: row.crowd_id,
        "hit": lambda row: row.hit.number,
        "worker": lambda row: row.worker.worker_id,
        "name": lambda row: row.worker_name,
        "status": lambda row: row.status,
        "passed": lambda row: row.passed,
        "rejection": lambda row: row.rejection,
        "account": lambda row: row.account,
        "accepted_at": lambda row: iso(row.accepted_at),
        "submitted_at": lambda row: iso(row.submitted_at),
    },
)
