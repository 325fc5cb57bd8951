"""A pilot: both conditions beside each other, and how often each errs."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from annotation.access.roles import ADJUDICATE, RUN, VIEW, visible_campaigns
from annotation.analytics.campaign.charts import Chart, Series
from annotation.analytics.quality.pilot_report import Condition, PilotReport, pilot_report
from annotation.pipeline.setup.create_pilot import pilots
from annotation.protocol.estimates.cost import is_free
from annotation.protocol.studies.pilot import Comparison
from annotation.web.base.chart_tables import as_csv
from annotation.web.base.guards import dashboard_page
from annotation.web.base.layout import page
from core.text.money import money
from core.text.words import DASH, percent

Row = tuple[str, str, str]  # with the answer, without it


@require_safe
@dashboard_page
def pilot(request: HttpRequest, name: str) -> HttpResponse:
    """For people who see both conditions."""
    seen = visible_campaigns(request.user).values("pk")
    one = get_object_or_404(pilots(), name=name, shown__in=seen, hidden__in=seen)
    report = pilot_report(one)
    chart = _chart(report.comparison) if report.comparison else None
    if "csv" in request.GET:
        if chart is None:
            raise Http404
        return as_csv(chart, one.name)
    context = {
        "pilot": one,
        "report": report,
        "chart": chart,
        "comparison": _comparison(report.comparison) if report.comparison else None,
        "rows": _rows(report),
        "may_label": request.user.has_perm(ADJUDICATE, one.shown),
        "may_import": request.user.has_perm(RUN, one.shown),
        "sees_source": request.user.has_perm(VIEW, report.source),
    }
    return page(request, "annotation/studies/pilot.html", context, title=f"Pilot {one}")


def _comparison(comparison: Comparison) -> dict[str, str]:
    helps = comparison.low > 0
    harms = comparison.high < 0
    verdict = "The answer helps" if helps else "The answer harms" if harms else "Undecided"
    return {
        "verdict": verdict,
        "badge": "good" if helps else "bad" if harms else "warn",
        "shown": percent(comparison.shown.share),
        "shown_interval": _interval(comparison.shown.low, comparison.shown.high),
        "hidden": percent(comparison.hidden.share),
        "hidden_interval": _interval(comparison.hidden.low, comparison.hidden.high),
        "difference": f"{100 * comparison.difference:+.1f} points",
        "interval": f"{100 * comparison.low:+.1f} to {100 * comparison.high:+.1f}",
        "relative": DASH if comparison.relative is None else f"{-comparison.relative:+.0%}",
        "accuracy": percent(comparison.accuracy),
    }


def _interval(low: float, high: float) -> str:
    return f"{percent(low)} to {percent(high)}"


def _chart(comparison: Comparison) -> Chart:
    conditions = (comparison.shown, comparison.hidden)
    return Chart(
        key="errors",
        title="Error rates",
        kind="bar",
        axis="Condition",
        labels=["With the answer", "Without it"],
        series=[
            Series("error rate", [round(100 * condition.share, 2) for condition in conditions]),
            Series("interval from", [round(100 * one.low, 2) for one in conditions], "from"),
            Series("interval to", [round(100 * one.high, 2) for one in conditions], "to"),
        ],
        unit="percent",
        note="The narrow bar is each rate's 95% interval (Wilson).",
    )


def _rows(report: PilotReport) -> list[Row]:
    shown, hidden = report.shown, report.hidden
    counts = ("triplets", "labelled", "unresolved", "open", "positive", "votes", "workers")
    rows = [
        (name.capitalize(), f"{getattr(shown, name):,}", f"{getattr(hidden, name):,}")
        for name in counts
    ]
    rows.append(("Agreement of the first two", percent(shown.agreement), percent(hidden.agreement)))
    if not is_free(shown.campaign.policy):
        rows.append(("Spent", _spent(shown), _spent(hidden)))
    return rows


def _spent(condition: Condition) -> str:
    return money(condition.spent_cents)
