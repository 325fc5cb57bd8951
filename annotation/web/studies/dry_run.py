"""The whole campaign on the emulator before anything is spent: asked for here, played by a job."""

from typing import Any, cast

from django import forms
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.access.audit_log import by_page
from annotation.access.roles import RUN
from annotation.jobs.requests import ask_read_only
from annotation.models import Campaign
from annotation.simulation.options import MOST_WORKERS, Options, read_options
from annotation.simulation.sample import most_queries, usual_queries
from annotation.web.base.chart_tables import as_csv
from annotation.web.base.guards import campaign_page
from annotation.web.base.layout import page
from annotation.web.studies.dry_run_report import DryRun, charts, table
from core.errors import UserError
from retrieval.models import Candidate, Job

KIND = "dry-run"
SHOWN = 4  # outcomes side by side
LOOKED_AT = 20  # jobs, some of which have failed
USUAL = Options()


def _percent(label: str, share: float) -> forms.FloatField:
    return forms.FloatField(
        label=label,
        initial=round(100 * share, 1),
        min_value=0,
        max_value=100,
        widget=forms.NumberInput({"step": "any"}),
    )


class DryRunForm(forms.Form):
    """Shares in percent."""

    queries = forms.IntegerField(min_value=1)
    workers = forms.IntegerField(
        label="People", initial=USUAL.workers, min_value=1, max_value=MOST_WORKERS
    )
    seed = forms.IntegerField(initial=USUAL.seed, min_value=0, max_value=2**31)
    careless = _percent("Careless people, %", USUAL.careless)
    careless_accuracy = _percent("Careless: triplets right, %", USUAL.careless_accuracy)
    careless_control_accuracy = _percent(
        "Careless: controls right, %", USUAL.careless_control_accuracy
    )
    spammers = _percent("Spammers, %", USUAL.spammers)
    accuracy = _percent("Careful: triplets right, %", USUAL.accuracy)
    control_accuracy = _percent("Careful: controls right, %", USUAL.control_accuracy)

    def __init__(self, *args: Any, campaign: Campaign, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        most = most_queries(campaign)
        queries = cast(forms.IntegerField, self.fields["queries"])
        queries.initial = usual_queries(campaign)
        queries.help_text = f"{most:,} at most, so that it ends in minutes"
        self.fields["spammers"].help_text = "they answer at random, and fail most controls"
        self.fields["seed"].help_text = "another one: other people, queries and labels"
        self.fields["accuracy"].help_text = "88: two of them agree on about 78%, as in the paper"

    def options(self) -> Options:
        whole = {"queries", "workers", "seed"}
        return read_options(
            {
                name: value if name in whole else value / 100
                for name, value in self.cleaned_data.items()
            }
        )


@require_http_methods(["GET", "HEAD", "POST"])
@campaign_page(RUN)
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
        by = by_page(cast(User, request.user))
        ask_read_only(by, KIND, campaign, form.options().to_dict())
    except UserError as error:
        return _render(request, campaign, form, fault=str(error), status=422)
    return redirect("campaign-dry-run", campaign.name)


def _jobs(campaign: Campaign) -> list[Job]:
    jobs = Job.objects.filter(subject=campaign.name, kind=KIND).select_related("requested_by")
    return list(jobs.order_by("-requested_at")[:LOOKED_AT])


def _outcomes(jobs: list[Job]) -> list[DryRun]:
    """The newest first."""
    return [DryRun(job) for job in jobs if job.state == Job.State.DONE][:SHOWN]


def _csv(campaign: Campaign, key: str) -> HttpResponse:
    outcomes = _outcomes(_jobs(campaign))
    drawn = {chart.key: chart for chart in charts(outcomes[0])} if outcomes else {}
    if key not in drawn:
        raise Http404
    return as_csv(drawn[key], f"{campaign.name}-dry-run")


def _render(
    request: HttpRequest,
    campaign: Campaign,
    form: DryRunForm,
    *,
    fault: str = "",
    status: int = 200,
) -> HttpResponse:
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
        "charts": charts(outcomes[0]) if outcomes else [],
        "outcomes": outcomes,
        "rows": table(outcomes),
    }
    return page(
        request,
        "annotation/studies/dry_run.html",
        context,
        title="Dry run",
        campaign=campaign,
        status=status,
    )
