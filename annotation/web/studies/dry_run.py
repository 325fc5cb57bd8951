"""The whole campaign on the emulator before anything is spent: asked for here, played by a job."""

from typing import Any, cast

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.models import Campaign
from annotation.operations.registry import LONG_OPERATIONS
from annotation.simulation.sample import most_queries, usual_queries
from annotation.web.base.chart_tables import as_csv
from annotation.web.base.guards import campaign_page
from annotation.web.base.layout import page
from annotation.web.campaigns.operation import OperationForm, ask_for
from annotation.web.studies.dry_run_report import DryRun, charts, table
from core.errors import UserError
from retrieval.models import Candidate, Job

SHOWN = 4  # outcomes side by side
LOOKED_AT = 20  # jobs, some of which have failed
DRY_RUN = LONG_OPERATIONS["dry-run"]


class DryRunForm(OperationForm):
    def __init__(self, *args: Any, campaign: Campaign, **kwargs: Any) -> None:
        super().__init__(DRY_RUN, *args, **kwargs)
        queries = cast(forms.IntegerField, self.fields["queries"])
        queries.required = True
        queries.initial = usual_queries(campaign)
        queries.help_text = f"{most_queries(campaign):,} at most, so that it ends in minutes"


@require_http_methods(["GET", "HEAD", "POST"])
@campaign_page(DRY_RUN.permission)
def dry_run(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    if request.method == "POST":
        return _requested(request, campaign)
    if "csv" in request.GET:
        return _csv(campaign, request.GET["csv"])
    return _render(request, campaign, DryRunForm(campaign=campaign))


def _requested(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    form = DryRunForm(request.POST, campaign=campaign)
    if not form.is_valid():
        return _render(request, campaign, form, status=422)
    try:
        ask_for(request, DRY_RUN.name, campaign, form.cleaned_data)
    except UserError as error:
        return _render(request, campaign, form, fault=str(error), status=422)
    return redirect("campaign-dry-run", campaign.name)


def _jobs(campaign: Campaign) -> list[Job]:
    jobs = Job.objects.filter(subject=campaign.name, kind=DRY_RUN.name).select_related(
        "requested_by"
    )
    return list(jobs.order_by("-requested_at")[:LOOKED_AT])


def _outcomes(jobs: list[Job]) -> list[DryRun]:
    """The newest first."""
    return [DryRun(job) for job in jobs if job.state == Job.State.DONE][:SHOWN]


def _csv(campaign: Campaign, key: str) -> HttpResponse:
    outcomes = _outcomes(_jobs(campaign))
    drawn = {chart.key: chart for chart in charts(outcomes[0])} if outcomes else {}
    if key not in drawn:
        raise Http404
    return as_csv(drawn[key].said(campaign.policy.crowd_traits), f"{campaign.name}-dry-run")


def _render(
    request: HttpRequest,
    campaign: Campaign,
    form: DryRunForm,
    *,
    fault: str = "",
    status: int = 200,
) -> HttpResponse:
    crowd = campaign.policy.crowd_traits
    jobs = _jobs(campaign)
    outcomes = _outcomes(jobs)
    newest = jobs[0] if jobs else None
    candidates = Candidate.objects.filter(query__query_set=campaign.query_set_id)
    context = {
        "form": form,
        "fault": fault,
        "retrieved": candidates.exists(),
        "job": newest if newest and newest.state != Job.State.DONE else None,
        "under_way": newest is not None and not newest.is_over,
        "policy": campaign.policy,
        "newest": outcomes[0] if outcomes else None,
        "charts": [chart.said(crowd) for chart in charts(outcomes[0])] if outcomes else [],
        "outcomes": outcomes,
        "rows": [(crowd.said(name), cells) for name, cells in table(outcomes)],
    }
    return page(
        request,
        "annotation/studies/dry_run.html",
        context,
        title="Dry run",
        campaign=campaign,
        status=status,
    )
