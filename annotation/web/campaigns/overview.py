"""Where a campaign stands, at a glance, and what it waits for."""

from contextlib import suppress

from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from annotation.access.roles import VIEW
from annotation.analytics.campaign.corpus import corpus_of
from annotation.analytics.campaign.labelling import labelling_in_words
from annotation.analytics.campaign.overview_charts import POINTS, charts_of
from annotation.analytics.campaign.snapshots import is_small, newest, series, take, take_if_old
from annotation.models import Campaign, Snapshot
from annotation.web.base.chart_tables import as_csv
from annotation.web.base.guards import campaign_page
from annotation.web.base.layout import May, page
from annotation.web.campaigns.operation import ask_for
from annotation.web.campaigns.overview_data import Overview, read_overview
from core.errors import UserError

RELEASES = 5  # of a complete campaign; its own page has all
UNCHANGED = 204  # of which htmx swaps nothing


@require_safe
@campaign_page()
def overview(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Counts nothing: the part that is asked for next does, where that is quick."""
    context = _context(request, campaign, newest(campaign), whole=True)
    context["labelling"] = labelling_in_words(campaign)
    context["corpus"] = corpus_of(campaign).in_words
    context["crowds"] = _crowds(request, campaign)
    return page(
        request, "annotation/campaigns/overview.html", context, title="Overview", campaign=campaign
    )


@require_safe
@campaign_page()
def live(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """The part of the overview that moves, for as long as somebody looks at it."""
    last = take_if_old(campaign)
    known = read_overview(campaign, last, request.user)
    if request.GET.get("seen") == known.mark:
        return HttpResponse(status=UNCHANGED)
    context = _context(request, campaign, last, known=known)
    return render(request, "annotation/campaigns/_overview.html", context)


@require_safe
@campaign_page()
def chart_csv(request: HttpRequest, campaign: Campaign, key: str) -> HttpResponse:
    charts = {chart.key: chart for chart in charts_of(campaign, _history(campaign))}
    if key not in charts:
        raise Http404
    return as_csv(charts[key], campaign.name)


@require_POST
@campaign_page()
def count_now(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """At once where the campaign is small; else a worker does it."""
    if is_small(campaign):
        take(campaign)
        return redirect("campaign", campaign.name)
    with suppress(UserError):  # somebody was quicker: the page shows that it is under way
        ask_for(request, "snapshot", campaign, {})
    return redirect("campaign", campaign.name)


def _crowds(request: HttpRequest, campaign: Campaign) -> list[tuple[Campaign, bool]]:
    """Where several judge one dataset: each with its `queries`, and whether the reader sees it."""
    crowds = list(campaign.crowds.annotate(queries=Count("query_set__queries")))
    if len(crowds) == 1:
        return []
    return [(one, request.user.has_perm(VIEW, one)) for one in crowds]


def _history(campaign: Campaign) -> list[Snapshot]:
    return series(campaign, points=POINTS)


def _is_packed(last: Snapshot | None) -> bool:
    """Before, the charts have nothing but zeros."""
    return last is not None and last.figures["triplets"] > 0


def _context(
    request: HttpRequest,
    campaign: Campaign,
    last: Snapshot | None,
    *,
    known: Overview | None = None,
    whole: bool = False,
) -> dict[str, object]:
    overview = known or read_overview(campaign, last, request.user)
    return {
        "campaign": campaign,
        "may": May(request, campaign),
        "overview": overview,
        "releases": campaign.releases.order_by("-number")[:RELEASES],
        "charts": charts_of(campaign, _history(campaign)) if _is_packed(last) else [],
        "state": overview.state,
        "whole": whole,
    }
