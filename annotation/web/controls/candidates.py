"""Controls that votes propose: looked for by a job, confirmed or dismissed by a person."""

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST

from annotation.access.audit_log import by_page
from annotation.access.roles import CHANGE_CONTROLS
from annotation.models import Campaign, ControlCandidate
from annotation.operations.controls import confirm_candidate, dismiss_candidate
from annotation.pipeline.controls.candidates import control_candidates
from annotation.web.base.guards import campaign_page
from annotation.web.base.layout import page
from annotation.web.campaigns.operation import ask_for
from annotation.web.controls.control import ControlForm, lacks
from core.errors import UserError

TEXTS = ("triplet__candidate__query", "triplet__candidate__pair")


@require_POST
@campaign_page(CHANGE_CONTROLS)
def find_control_candidates(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    try:
        ask_for(request, "control-candidates", campaign, {})
    except UserError as error:
        messages.error(request, str(error))
    return redirect("campaign-controls", campaign.name)


@require_http_methods(["GET", "HEAD", "POST"])
@campaign_page(CHANGE_CONTROLS)
def control_candidate(request: HttpRequest, campaign: Campaign, pk: int) -> HttpResponse:
    found = get_object_or_404(control_candidates(campaign).select_related(*TEXTS), pk=pk)
    candidate = found.triplet.candidate
    words = {
        "query": candidate.query.text,
        "question": candidate.pair.question,
        "answer": candidate.pair.answer,
    }
    form = ControlForm(request.POST or None, initial=words)
    if request.method == "POST":
        # Dismissing concerns this campaign alone, the pool all of them.
        if "dismiss" not in request.POST and not request.user.has_perm(CHANGE_CONTROLS):
            return lacks(request)
        if "dismiss" in request.POST or form.is_valid():
            try:
                messages.success(request, _decide(request, campaign, found, form))
            except UserError as error:
                return _page(request, campaign, found, form, fault=str(error))
            return redirect("campaign-controls", campaign.name)
    return _page(request, campaign, found, form)


def _decide(
    request: HttpRequest, campaign: Campaign, found: ControlCandidate, form: ControlForm
) -> str:
    by = by_page(cast(User, request.user))
    if "dismiss" in request.POST:
        dismiss_candidate(by, campaign, found)
        return "The candidate is dismissed: it will not come again."
    confirm_candidate(by, campaign, found, form.texts)
    return "The pool has a new control. New HITs can contain it."


def _page(
    request: HttpRequest,
    campaign: Campaign,
    found: ControlCandidate,
    form: ControlForm,
    *,
    fault: str = "",
) -> HttpResponse:
    context: dict[str, Any] = {
        "control_candidate": found,
        "triplet": found.triplet,
        "form": form,
        "fault": fault,
        "may_change_pool": request.user.has_perm(CHANGE_CONTROLS),
    }
    faulty = fault or (form.is_bound and form.errors)
    return page(
        request,
        "annotation/controls/candidate.html",
        context,
        title="Control candidate",
        campaign=campaign,
        status=422 if faulty else 200,
    )
