"""What workers have handed in for a campaign, in the order of its HITs."""

from typing import Any

from django import forms
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from annotation.models import Assignment, Campaign, Worker
from annotation.operations.campaign.workers import worker_of
from annotation.web.base.guards import campaign_page
from annotation.web.base.list_page import list_page
from annotation.web.base.pagination import PAGE_SIZE, Window

REACH = 5_000  # HITs whose assignments one page looks through
# A HIT's assignments stand together on a page; no crowd takes more for one HIT.
MOST_OF_A_HIT = 100


class AssignmentFilter(forms.Form):
    q = forms.CharField(
        label="Search",
        required=False,
        max_length=64,
        help_text="An assignment's id at the crowd, or a HIT's number",
    )
    worker = forms.CharField(
        required=False, max_length=150, help_text="As the crowd names them; in-house the user name"
    )
    status = forms.ChoiceField(required=False, choices=[("", "Any"), *Assignment.Status.choices])
    passed = forms.ChoiceField(
        label="Controls",
        required=False,
        choices=[("", "Any"), ("yes", "Passed"), ("no", "Failed"), ("none", "Not reviewed yet")],
    )


PASSED = {"yes": True, "no": False, "none": None}


@require_safe
@campaign_page()
def assignments(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    form = AssignmentFilter(request.GET)
    return list_page(
        request,
        campaign,
        form,
        _window_of,
        template="annotation/hits/assignments.html",
        title="Assignments",
    )


def _window_of(campaign: Campaign, asked: dict[str, Any], *, start: int) -> Window:
    rows = Assignment.objects.filter(hit__campaign=campaign).select_related("hit", "worker")
    if asked["status"]:
        rows = rows.filter(status=asked["status"])
    if asked["passed"]:
        rows = rows.filter(passed=PASSED[asked["passed"]])
    if asked["worker"]:
        rows = rows.filter(worker__in=_workers(campaign, asked["worker"]))
    if name := asked["q"]:
        named = Q(crowd_id=name)
        if name.isascii() and name.isdigit() and len(name) < 10:
            # By its key: of two tables at once no index would help.
            named |= Q(hit__in=list(campaign.hits.filter(number=int(name))))
        found = rows.filter(named).order_by("hit__number", "pk")
        return Window(list(found[:MOST_OF_A_HIT]), 0, None)
    return _window(campaign, rows, start=start)


def _workers(campaign: Campaign, name: str) -> list[int]:
    worker = worker_of(campaign, name)
    found = Worker.objects.filter(crowd=campaign.policy.crowd, worker_id=worker)
    return list(found.values_list("pk", flat=True))


def _window(campaign: Campaign, rows: QuerySet[Assignment], *, start: int) -> Window:
    """By the HITs' numbers, which an index knows: assignments of campaigns lie mixed."""
    end = start + REACH
    near = rows.filter(hit__number__gte=start, hit__number__lt=end).order_by("hit__number", "pk")
    found = list(near[: PAGE_SIZE + MOST_OF_A_HIT])
    if len(found) > PAGE_SIZE:
        # The HIT with which the page is full is shown whole.
        last = found[PAGE_SIZE - 1].hit.number
        return Window([one for one in found if one.hit.number <= last], start, last + 1)
    if not campaign.hits.filter(number__gte=end).order_by("number").values_list("pk")[:1]:
        return Window(found, start, None)
    return Window(found, start, end, searched=REACH)
