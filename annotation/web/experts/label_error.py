"""How often labels are wrong, by what experts judged at random, and what they have to judge yet."""

from django import forms
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from annotation.access.roles import SEE_VOTES
from annotation.analytics.quality.expert_agreement import audit_plan
from annotation.models import Campaign
from annotation.protocol.estimates.audit_plan import LEAST_WIDTH, MOST_WIDTH, USUAL_WIDTH
from annotation.protocol.estimates.certificate import (
    CONFIDENCE,
    ENOUGH,
    LEAST_CERTIFIED,
    MOST_CERTIFIED,
)
from annotation.protocol.labels.label_error import Share
from annotation.web.base.guards import campaign_page
from annotation.web.base.layout import page
from core.text.words import percent


class PlanForm(forms.Form):
    width = forms.FloatField(
        label="Width of the interval",
        help_text="0.02: such as 2 % to 4 %",
        min_value=LEAST_WIDTH,
        max_value=MOST_WIDTH,
        required=False,
    )
    certify = forms.FloatField(
        label="Wrong labels, at most",
        help_text="0.05: a certificate of 5 %",
        min_value=LEAST_CERTIFIED,
        max_value=MOST_CERTIFIED,
        required=False,
    )


@require_safe
@campaign_page(SEE_VOTES)
def label_error(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    form = PlanForm(request.GET)
    wanted = form.cleaned_data if form.is_valid() else {}
    width = wanted.get("width") or USUAL_WIDTH
    plan = audit_plan(campaign, width=width, share=wanted.get("certify"))
    error = plan.error
    kinds = (error.false_positives, error.false_negatives) if error else (None, None)
    context = {
        "form": form,
        "plan": plan,
        "error": error and in_words(Share(error.share, error.low, error.high)),
        "positives": kinds[0] and in_words(kinds[0].share),
        "negatives": kinds[1] and in_words(kinds[1].share),
        "width": percent(plan.width),
        "certified": plan.certificate and percent(plan.certificate.error),
        "confidence": percent(CONFIDENCE, 0),
        "enough": ENOUGH,
    }
    return page(
        request,
        "annotation/experts/label_error.html",
        context,
        title="Label error",
        campaign=campaign,
        status=200 if form.is_valid() else 422,
    )


def in_words(share: Share) -> str:
    """Such as 3.1% (2.2% to 4.3%)."""
    value, low, high = map(percent, share)
    return f"{value} ({low} to {high})"
