"""How many votes to buy for a wanted error, budget, team and time; a choice begins a campaign."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.access.roles import CREATE, SEE_VOTES, campaigns_where
from annotation.analytics.campaign.plan import (
    LEAST_DAYS,
    LEAST_ERROR,
    LEAST_HOURS,
    MOST_ERROR,
    MOST_HOURS,
    MOST_PEOPLE,
    MOST_QUERIES,
    USUAL_ERROR,
    Plan,
    Wanted,
    chart_of,
    plan_of,
    planned_after,
)
from annotation.models import Campaign
from annotation.protocol.estimates.cost import is_free
from annotation.protocol.labels.label_error import Share
from annotation.web.base.guards import campaign_page, refuse
from annotation.web.base.layout import page
from annotation.web.experts.label_error import in_words
from annotation.web.new_campaign.draft import PLANNED, Draft
from annotation.web.new_campaign.forms import typed_cents
from annotation.web.new_campaign.wizard import NOT_YOURS
from annotation.web.workers.columns import duration
from core.errors import UserError
from core.text.money import money, unit
from core.text.words import percent

MOST_LIKE = 2  # each takes two queries


class WantedForm(forms.Form):
    error = forms.FloatField(
        label="Wrong labels, at most",
        help_text="0.05: of a hundred labels five may be wrong",
        min_value=LEAST_ERROR,
        max_value=MOST_ERROR,
        required=False,
    )
    budget = forms.CharField(max_length=20, required=False, help_text="Empty: any")
    people = forms.IntegerField(
        label="People who work",
        min_value=1,
        max_value=MOST_PEOPLE,
        required=False,
        help_text="Empty: as many as before",
    )
    days = forms.FloatField(
        label="Days that it may take",
        min_value=LEAST_DAYS,
        required=False,
        help_text="Empty: any",
    )
    hours = forms.FloatField(
        label="Hours a day that each works",
        min_value=LEAST_HOURS,
        max_value=MOST_HOURS,
        required=False,
        help_text="Empty: as much as before",
    )
    queries = forms.IntegerField(
        label="Queries of a new campaign",
        min_value=1,
        max_value=MOST_QUERIES,
        required=False,
        help_text="Empty: as many triplets as this campaign has",
    )

    def __init__(self, data: Any, *, like: Sequence[Campaign], is_free: bool) -> None:
        super().__init__(data)
        self.fields["budget"].label = f"Budget in {unit()}"
        if is_free:
            del self.fields["budget"]
        self.fields["like"] = forms.MultipleChoiceField(
            choices=[(one.name, one.name) for one in like],
            label="Whose crowd",
            required=False,
            widget=forms.CheckboxSelectMultiple,
        )

    def clean_budget(self) -> int | None:
        return typed_cents(self.cleaned_data["budget"])

    @property
    def wanted(self) -> Wanted:
        said = self.cleaned_data
        return Wanted(
            said["error"] or USUAL_ERROR,
            said.get("budget"),
            said["people"],
            said["days"],
            said["hours"],
            said["queries"],
        )


@require_http_methods(["GET", "HEAD", "POST"])
@campaign_page(SEE_VOTES)
def campaign_plan(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    known = list(planned_after(campaigns_where(request.user, SEE_VOTES))[:MOST_LIKE])
    free = is_free(campaign.policy)
    form = WantedForm(request.POST or request.GET, like=known, is_free=free)
    may_create = request.user.has_perm(CREATE)
    if request.method == "POST" and not may_create:
        return refuse(request, 403, "Your role does not allow it", NOT_YOURS)
    context: dict[str, Any] = {"form": form, "may_create": may_create, "is_free": free}
    if not form.is_valid():
        return _render(request, campaign, context, status=422)
    names = form.cleaned_data["like"]
    like = [one for one in known if one.name in names] or [campaign]
    try:
        plan = plan_of(campaign, form.wanted, like)
    except UserError as error:
        context["fault"] = str(error)
        return _render(request, campaign, context, status=422 if request.method == "POST" else 200)
    if request.method == "POST":
        return _begin(request, plan, like, form.wanted)
    return _render(request, campaign, {**context, **_said(plan, form.wanted)})


def _begin(
    request: HttpRequest, plan: Plan, like: Sequence[Campaign], wanted: Wanted
) -> HttpResponse:
    """The new campaign's steps, with this choice as its rules."""
    chosen = next((one for one in plan.choices if one.name == request.POST.get("choice")), None)
    if chosen is None:
        return refuse(request, 422, "Nothing is chosen", "Go back and choose one of the rows.")
    policy, draft = chosen.made.policy, Draft.of(request)
    draft.plan = {
        "policy": policy.to_dict(),
        "like": [one.name for one in like],
        "people": plan.people,
        "hours": wanted.hours,
    }
    draft.preset, draft.task, draft.policy = PLANNED, policy.task, policy.to_dict()
    draft.is_agreed = False
    if draft.file is None:
        draft.sample = -(-plan.triplets // policy.candidates_per_query) or None
    draft.keep(request)
    messages.success(
        request, f"The rules of the new campaign are those of the plan: {chosen.name}."
    )
    return redirect("campaign-new")


def _said(plan: Plan, wanted: Wanted) -> Mapping[str, Any]:
    rows = [
        {
            "choice": one,
            "error": in_words(Share(one.made.error, one.low, one.high)),
            "cost": money(one.made.cents),
            "is_best": one is plan.choice,
        }
        for one in plan.choices
    ]
    zeros, ones = plan.crowd.urns
    return {
        "plan": plan,
        "rows": rows,
        "chart": chart_of(plan),
        "wanted": percent(wanted.error),
        "zeros": percent(zeros.error),
        "ones": percent(ones.error),
        "failing": percent(plan.crowd.failing),
        "seconds": plan.seconds and duration(1000 * plan.seconds),
    }


def _render(
    request: HttpRequest, campaign: Campaign, context: Mapping[str, Any], *, status: int = 200
) -> HttpResponse:
    return page(
        request,
        "annotation/new_campaign/plan.html",
        dict(context),
        title="Plan votes",
        campaign=campaign,
        status=status,
    )
