"""What workers have submitted for a campaign, in the order of its HITs."""

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from annotation.access.roles import SEE_VOTES
from annotation.models import Assignment, Campaign
from annotation.web.base.filters import AssignmentFilter
from annotation.web.base.guards import campaign_page
from annotation.web.base.list_page import list_page
from annotation.web.base.pagination import PAGE_SIZE, Window

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
    return list_page(request, campaign, AssignmentSearch, _window_of, title="Assignments")


def _window_of(campaign: Campaign, asked: AssignmentSearch, start: int) -> Window:
    rows = Assignment.with_rejection(Assignment.objects.filter(hit__campaign=campaign))
    rows = rows.filter(asked.where())
    rows, name = rows.select_related("hit", "worker"), asked.cleaned_data["q"]
    if name or asked.cleaned_data["hit"] is not None:
        found = rows.filter(crowd_id=name) if name else rows
        return Window(list(found.order_by("hit__number", "pk")[:MOST_OF_A_HIT]), 0, None)
    return _window(campaign, rows, start=start)


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
