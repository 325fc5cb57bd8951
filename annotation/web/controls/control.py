"""One control: its texts, some HITs that contain it, and links to its operations."""

from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_safe

from annotation.access.roles import CHANGE_CONTROLS, SEE_VOTES, campaigns_where
from annotation.models import Campaign, Control, Hit
from annotation.pipeline.labelling.reveals import reveal_values
from annotation.web.base.guards import campaign_page, dashboard_page
from annotation.web.base.layout import page

MOST_HITS = 10


@require_safe
@dashboard_page
def pool_control(request: HttpRequest, pk: int) -> HttpResponse:
    return _page(request, None, pk, "database-operation", [])


@require_safe
@campaign_page()
def campaign_control(request: HttpRequest, campaign: Campaign, pk: int) -> HttpResponse:
    """A negative one."""
    return _page(request, campaign, pk, "operation", [campaign.name])


def _page(
    request: HttpRequest, campaign: Campaign | None, pk: int, operation: str, of: list[str]
) -> HttpResponse:
    control = get_object_or_404(Control, pk=pk, campaign=campaign)
    may_change = request.user.has_perm(CHANGE_CONTROLS, campaign) and not control.retired_at
    context: dict[str, Any] = {
        "control": control,
        "back": reverse("campaign-controls" if campaign else "controls", args=of),
        "hits": _hits(request, control),
        "revealed": len(reveal_values("assignment__worker", which=Q(item__control=control))),
        "replace": reverse(operation, args=[*of, "replace-control"]) if may_change else "",
        "retire": reverse(operation, args=[*of, "retire-control"]) if may_change else "",
    }
    title = f"{control.get_kind_display()} control"
    template = "annotation/controls/control.html"
    return page(request, template, context, title=title, campaign=campaign)


def _hits(request: HttpRequest, control: Control) -> list[Hit]:
    """The first of those that hold it, of the campaigns whose votes the reader sees."""
    seen = control.items.filter(hit__campaign__in=campaigns_where(request.user, SEE_VOTES))
    items = seen.select_related("hit__campaign").order_by("pk")
    return [item.hit for item in items[:MOST_HITS]]
