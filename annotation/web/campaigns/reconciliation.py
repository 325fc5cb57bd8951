"""Ours compared with the crowd's record by a job that a click asks for."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.models import Campaign
from annotation.operations.registry import LONG_OPERATIONS
from annotation.web.base.guards import campaign_page
from annotation.web.base.layout import page
from annotation.web.campaigns.operation import ask_for, read_options
from core.errors import UserError
from retrieval.models import Job

RECONCILE = LONG_OPERATIONS["reconcile"]


@require_http_methods(["GET", "HEAD", "POST"])
@campaign_page(RECONCILE.permission)
def campaign_reconcile(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    if request.method != "POST":
        return _render(request, campaign)
    try:
        options = read_options(RECONCILE.name, request.POST)
        job = ask_for(request, RECONCILE.name, campaign, options)
    except UserError as error:
        return _render(request, campaign, fault=str(error), status=409)
    return redirect("job", job.pk)


def _render(
    request: HttpRequest, campaign: Campaign, *, fault: str = "", status: int = 200
) -> HttpResponse:
    done = Job.objects.filter(kind=RECONCILE.name, subject=campaign.name)
    context = {"fault": fault, "job": done.order_by("-requested_at", "-pk").first()}
    return page(
        request,
        "annotation/campaigns/reconcile.html",
        context,
        title="Reconcile",
        campaign=campaign,
        status=status,
    )
