"""Asking for a release, and how far it is."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from annotation.models import Campaign
from annotation.views.guards import permitted
from exports.models import Build
from exports.requests import request_build
from exports.views.access import BUILD, lacks, releases_page
from exports.views.campaign import campaign_page, state_of
from exports.views.forms import BuildForm
from retrieval.errors import UserError


@require_POST
@releases_page
def ask(request: HttpRequest, name: str) -> HttpResponse:
    if not permitted(request, BUILD):
        return lacks(request, BUILD)
    campaign = get_object_or_404(Campaign, name=name)
    form = BuildForm(campaign, request.POST)
    if not form.is_valid():
        return campaign_page(request, campaign, form, status=422)
    try:
        request_build(
            campaign,
            options=form.options(),
            requested_by=request.user.get_username(),
        )
    except UserError as error:
        form.add_error(None, str(error))
        return campaign_page(request, campaign, form, status=422)
    return redirect("campaign-releases", name)


@require_safe
@releases_page
def build_state(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """What the progress bar asks again and again."""
    build = get_object_or_404(Build, pk=pk, campaign__name=name)
    return JsonResponse(state_of(build))
