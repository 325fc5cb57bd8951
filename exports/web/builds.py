"""Asking for a release, and how far it is."""

from typing import cast

from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from annotation.access.audit_log import by_page, record
from annotation.access.roles import BUILD
from annotation.models import Campaign
from core.errors import UserError
from exports.building.requests import request_build
from exports.models import Build
from exports.web.access import campaign_releases_page, lacks, may_build
from exports.web.campaign import campaign_page, state_of
from exports.web.forms import BuildForm


@require_POST
@campaign_releases_page
def ask(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    if not may_build(request, campaign):
        return lacks(request, BUILD)
    form = BuildForm(campaign, request.POST)
    if not form.is_valid():
        return campaign_page(request, campaign, form, status=422)
    try:
        with transaction.atomic():
            by = by_page(cast(User, request.user))
            build = request_build(campaign, options=form.options(), by=by.user)
            record(by, "build-release", campaign=campaign, details=build.options)
    except UserError as error:
        form.add_error(None, str(error))
        return campaign_page(request, campaign, form, status=422)
    return redirect("campaign-releases", campaign.name)


@require_safe
@campaign_releases_page
def build_state(request: HttpRequest, campaign: Campaign, pk: int) -> HttpResponse:
    """What the progress bar asks again and again."""
    build = get_object_or_404(Build, pk=pk, subject=campaign.name)
    return JsonResponse(state_of(build))
