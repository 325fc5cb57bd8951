"""How often labels are wrong, by what experts judged at random, and what they have to judge yet."""

from django import forms
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from annotation.access.roles import SEE_VOTES
from annotation.analytics.campaign.charts import Chart, Series
from annotation.analytics.quality.expert_agreement import audit_plan
from annotation.models import Campaign
from annotation.pipeline.labelling.label import claims_of
from annotation.protocol.estimates.audit_plan import LEAST_WIDTH, MOST_WIDTH, USUAL_WIDTH
from annotation.protocol.estimates.certificate import (
    ENOUGH,
    LEAST_CERTIFIED,
    MOST_CERTIFIED,
)
from annotation.protocol.labels.claims import no_chance_in_words
from annotation.protocol.labels.label_error import Share
from annotation.web.base.guards import campaign_page
from annotation.web.base.layout import page
from core.text.words import percent


class PlanForm(forms.Form):
    width = forms.FloatField(
        label="How far apart the brackets may be",
        help_text="0.02: such as 2% to 4%",
        min_value=LEAST_WIDTH,
        max_value=MOST_WIDTH,
        required=False,
    )
    certify = forms.FloatField(
        label="Certify that no more is wrong than",
        help_text="0.05: at most 5% of all labels",
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
        "width": f"{100 * plan.width:.1f}",
        "certified": plan.certificate and percent(plan.certificate.error),
        "enough": ENOUGH,
        "no_chance": no_chance_in_words(campaign.policy, claims_of(campaign)),
    }
    if not context["no_chance"]:
        context |= _reliability(campaign)
    return page(
        request,
        "annotation/experts/label_error.html",
        context,
        title="Label error",
        campaign=campaign,
        status=200 if form.is_valid() else 422,
    )


def _reliability(campaign: Campaign) -> dict[str, object]:
    # It loads scipy, which most pages do without.
    from annotation.analytics.quality.aggregation import reliability_of  # noqa: PLC0415

    shown = reliability_of(campaign)
    if shown is None:
        return {}
    chances, shares, lows, highs = (
        [round(100 * getattr(one, name), 1) for one in shown.bins]
        for name in ("chance", "share", "low", "high")
    )
    chart = Chart(
        key="reliability",
        title="Where it says 80% Yes, how often do experts?",
        kind="line",
        axis="Probability of a Yes",
        labels=[f"{chance:g}%" for chance in chances],
        series=[
            Series("Perfect match", chances, muted=True),
            Series("Yes by experts", shares),
            Series("95% interval, from", lows, band="from"),
            Series("to", highs, band="to"),
        ],
        unit="%",
        places=chances,
    )
    judged = sum(one.items for one in shown.bins)
    return {"chart": chart, "calibration_error": f"{100 * shown.error:.1f}", "judged": judged}


def in_words(share: Share) -> str:
    """Such as 3.1% (2.2% to 4.3%)."""
    value, low, high = map(percent, share)
    return f"{value} ({low} to {high})"
