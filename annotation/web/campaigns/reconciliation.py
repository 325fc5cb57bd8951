"""Ours compared with the crowd's record by a job that a click asks for."""

from typing import cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.access.audit_log import by_page
from annotation.access.roles import RUN
from annotation.jobs.requests import ask_to_reconcile
from annotation.models import Campaign
from annotation.web.base.guards import campaign_page
from annotation.web.base.layout import page
from core.errors import UserError
from retrieval.models import Job


@require_http_methods(["GET", "HEAD", "POST"])
@campaign_page(RUN)
def campaign_reconcile(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    if request.method != "POST":
        return _render(request, campaign)
    by = by_page(cast(User, request.user))
    full, all_gone = "full" in request.POST, "all_gone" in request.POST
    try:
        job = ask_to_reconcile(by, campaign, full=full, all_gone=all_gone)
    except UserError as error:
        return _render(request, campaign, fault=str(error), status=409)
    return redirect("job", job.pk)


def _render(
    request: HttpRequest, campaign: Campaign, *, fault: str = "", status: int = 200
) -> HttpResponse:
    done = Job.objects.filter(kind="reconcile", subject=campaign.name)
    context = {"fault": fault, "job": done.order_by("-requested_at", "-pk").first()}
    return page(
        request,
        "annotation/campaigns/reconcile.html",
        context,
        title="Reconcile",
        campaign=campaign,
        status=status,
    )
