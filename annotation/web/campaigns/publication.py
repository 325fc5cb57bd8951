"""Publishing: its price and its place are shown, and confirmed; then it is asked for."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.analytics.campaign.publication_preview import publication_of
from annotation.crowd.factory import site_of
from annotation.models import Campaign
from annotation.operations.registry import LONG_OPERATIONS
from annotation.web.base.guards import campaign_page
from annotation.web.base.layout import page
from annotation.web.campaigns.operation import REQUESTED, ask_for, read_options
from core.errors import UserError


@require_http_methods(["GET", "HEAD", "POST"])
@campaign_page(LONG_OPERATIONS["publish"].permission)
def campaign_publish(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    try:
        options = read_options("publish", request.GET)
        if request.method == "POST" and _is_confirmed(request, campaign):
            # That real money is meant was typed.
            ask_for(request, "publish", campaign, {**options, "live": True})
            messages.success(request, REQUESTED)
            return redirect("campaign-milestones", campaign.name)
        publication = publication_of(campaign, options["first"])
    except UserError as error:
        return _render(request, campaign, {"fault": str(error)}, status=422)
    misspelt = request.method == "POST" and publication.crowd.is_production
    return _render(request, campaign, {"publication": publication, "misspelt": misspelt})


def _is_confirmed(request: HttpRequest, campaign: Campaign) -> bool:
    """What the page has shown, and by the campaign's name where the money is real."""
    crowd = site_of(campaign.policy.crowd)
    if request.POST.get("endpoint") != crowd.endpoint:
        return False
    typed = request.POST.get("typed", "").strip()
    return not crowd.is_production or typed == campaign.name


def _render(
    request: HttpRequest, campaign: Campaign, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    return page(
        request,
        "annotation/campaigns/publish.html",
        context,
        title="Publish",
        campaign=campaign,
        status=status,
    )
