"""How far long work is, on a page of its own and within those that have asked for it."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from annotation.access.roles import visible_campaigns
from annotation.models import Campaign
from annotation.web.base.guards import dashboard_page
from annotation.web.base.layout import page
from retrieval.jobs.handlers import HANDLERS as DATABASE_HANDLERS
from retrieval.models import Job
from retrieval.web.access import may_view_corpus

PART = "annotation/base/_job.html"


@require_safe
@dashboard_page
def job(request: HttpRequest, pk: int) -> HttpResponse:
    """For the person who asked for it, people who see its campaign, and the staff."""
    one = get_object_or_404(Job.objects.select_related("requested_by"), pk=pk)
    campaign = _campaign_of(request, one)
    theirs = one.requested_by_id == request.user.pk
    if not (theirs or campaign or request.user.is_staff):
        raise Http404
    if "HX-Request" in request.headers:
        return _part(request, one)
    context = {
        "job": one,
        "campaign_of": campaign,
        "crowd": campaign.policy.crowd_traits if campaign else None,
        "of_the_database": one.kind in DATABASE_HANDLERS and may_view_corpus(request.user),
    }
    return page(request, "annotation/base/job.html", context, title=one.title)


def _campaign_of(request: HttpRequest, one: Job) -> Campaign | None:
    """None where it is not done for one that the reader sees; a source may be named like one."""
    if one.kind in DATABASE_HANDLERS:
        return None
    return visible_campaigns(request.user).filter(name=one.subject).first()


def _part(request: HttpRequest, one: Job) -> HttpResponse:
    response = render(request, PART, {"job": one})
    if one.is_over:
        # The page around it shows what has come of the work.
        response["HX-Refresh"] = "true"
    return response
