"""A new campaign in three steps: its queries, its policy, its budget; then a job makes it.

Nothing is made before. What was said is kept until the campaign is there, so that it can be mended
where the job refuses it.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotation.access.audit_log import by_page
from annotation.access.roles import CREATE, SEE_VOTES, campaigns_where
from annotation.analytics.campaign.cost_table import cost_table
from annotation.analytics.campaign.plan import planned_after
from annotation.jobs.tasks import run_job, soon
from annotation.models import Campaign
from annotation.operations.campaigns import request_creation, warnings_of
from annotation.protocol.estimates.cost import is_free
from annotation.protocol.policy.tasks import PAPER_TASK, TASKS
from annotation.web.base.guards import View, dashboard_page, refuse
from annotation.web.base.layout import page
from annotation.web.new_campaign.draft import Draft, read_upload
from annotation.web.new_campaign.forms import BudgetForm, PolicyForm, QueriesForm
from annotation.web.new_campaign.prerequisites import Prerequisites, prerequisites_of
from core.errors import UserError
from core.text.money import money
from retrieval.models import Job
from retrieval.models.corpus import ALL

MOST_PLANNED = 5
TITLE = "New campaign"
NOT_YOURS = (
    "Your account may not create campaigns: an administrator gives it the permission"
    " “Can add campaign”."
)
GONE = "The job that creates the campaign no longer exists. Create the campaign again."
Step = Callable[[HttpRequest, Draft], HttpResponse]


def creator_page(view: View) -> View:
    """For people who may create campaigns."""

    @dashboard_page
    @wraps(view)
    def guarded(request: HttpRequest, **kwargs: object) -> HttpResponse:
        if not request.user.has_perm(CREATE):
            return refuse(request, 403, "Your role does not allow it", NOT_YOURS)
        return view(request, **kwargs)

    return guarded


@require_http_methods(["GET", "HEAD", "POST"])
@creator_page
def new_campaign(request: HttpRequest) -> HttpResponse:
    """What was said stays in the session until the campaign is created, or given up."""
    draft = Draft.of(request)
    if "forget" in request.POST:
        draft.forget(request)
        return redirect("campaign-new")
    if draft.job is not None:
        return _creation(request, draft, draft.job)
    wanted = request.GET.get("step", "queries")
    step = wanted if wanted in STEPS else "queries"
    if step != "queries" and not (draft.name and draft.queries):
        return redirect("campaign-new")
    if step == "budget" and not draft.is_agreed:
        return _to("policy")
    return STEPS[step](request, draft)


def _creation(request: HttpRequest, draft: Draft, pk: int) -> HttpResponse:
    """The job's page loads itself again when the job has ended: that leads on."""
    job = Job.objects.select_related("requested_by").filter(pk=pk).first()
    if job is not None and not job.is_over:
        return _render(request, draft, "created", {"job": job})
    if job is not None and job.state == Job.State.DONE:
        draft.forget(request)
        messages.success(request, f"Campaign {draft.name} is created, and it is yours.")
        return redirect("campaign-milestones", draft.name)
    draft.job = None
    draft.keep(request)
    messages.error(request, job.error if job else GONE)
    return _to("budget")


def _queries(request: HttpRequest, draft: Draft) -> HttpResponse:
    if request.method != "POST":
        names = ("preset", "task", "name", "corpus", "seed", "sample")
        said = {name: getattr(draft, name) for name in names}
        said["origin"] = "file" if draft.file and draft.sample is None else "sample"
        return _render(request, draft, "queries", {"form": QueriesForm(initial=said, draft=draft)})
    # The file is read first and kept, whatever else has to be said again.
    fault = _take_file(request, draft)
    form = QueriesForm(request.POST, request.FILES, draft=draft)
    is_valid = form.is_valid()
    if fault:
        form.errors.pop("file", None)
        form.add_error("file", fault)
    if fault or not is_valid:
        draft.keep(request)
        return _render(request, draft, "queries", {"form": form}, status=422)
    chosen = form.cleaned_data
    draft.begin_as(chosen["preset"], chosen["task"])
    draft.name, draft.seed = chosen["name"], chosen["seed"]
    draft.corpus = chosen["corpus"] or ALL
    draft.sample = chosen["sample"] if chosen["origin"] == "sample" else None
    draft.keep(request)
    return _to("policy")


def _take_file(request: HttpRequest, draft: Draft) -> str:
    """What is wrong with it; the one before stays then."""
    upload = request.FILES.get("file")
    if upload is None:
        return ""
    try:
        taken = read_upload(upload, TASKS.get(request.POST.get("task", ""), PAPER_TASK))
    except UserError as error:
        return str(error)
    draft.drop_file()
    draft.file = taken
    return ""


def _policy(request: HttpRequest, draft: Draft) -> HttpResponse:
    form = PolicyForm(request.POST or None, base=draft.rules)
    if request.method != "POST":
        return _render(request, draft, "policy", {"form": form})
    if not form.is_valid():
        return _render(request, draft, "policy", {"form": form}, status=422)
    draft.policy, draft.is_agreed = form.policy.to_dict(), True
    draft.keep(request)
    return _to("budget")


def _budget(request: HttpRequest, draft: Draft) -> HttpResponse:
    policy = draft.rules
    costs = cost_table(draft.triplets, policy)
    warned = warnings_of(draft.queries, policy)
    context: dict[str, Any] = {"policy": policy, "costs": costs, "warnings": warned}
    if request.method != "POST":
        proposed = money(costs.reserve_cents)[1:] if costs.reserve_cents else ""
        context["form"] = BudgetForm(initial={"budget": draft.budget or proposed})
        return _render(request, draft, "budget", context)
    context["form"] = form = BudgetForm(request.POST)
    if not form.is_valid():
        return _render(request, draft, "budget", context, status=422)
    wanted = draft.wanted(form.cleaned_data["budget"])
    try:
        with transaction.atomic():
            job = request_creation(wanted, by=by_page(cast(User, request.user)))
            soon(run_job, job.pk)
    except UserError as error:
        context["fault"] = str(error)
        return _render(request, draft, "budget", context, status=422)
    draft.job, draft.budget = job.pk, form.data.get("budget", "")
    draft.keep(request)
    return _to("budget")


def _to(step: str) -> HttpResponse:
    return redirect(f"{reverse('campaign-new')}?step={step}")


def _render(
    request: HttpRequest, draft: Draft, step: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    whole = {
        "draft": draft,
        "step": step,
        "presets": draft.presets.values(),
        "tasks": TASKS.values(),
        "crowd": draft.rules.crowd_traits,
        "steps": _steps(draft, step),
        "prerequisites": _prerequisites(request, draft) if step in ("queries", "budget") else None,
        "planned_after": _planned_after(request) if step == "queries" else [],
        **context,
    }
    return page(request, f"annotation/new_campaign/{step}.html", whole, title=TITLE, status=status)


def _prerequisites(request: HttpRequest, draft: Draft) -> Prerequisites:
    return prerequisites_of(request.user, corpus=draft.corpus, policy=draft.rules)


def _planned_after(request: HttpRequest) -> list[Campaign]:
    return list(planned_after(campaigns_where(request.user, SEE_VOTES))[:MOST_PLANNED])


def _steps(draft: Draft, current: str) -> list[Mapping[str, object]]:
    """Those that can be gone to have a link."""
    reached = {"queries": True, "policy": bool(draft.name and draft.queries)}
    reached["budget"] = reached["policy"] and draft.is_agreed
    last = "Summary" if is_free(draft.rules) else "Budget"
    return [
        {"name": name, "title": title, "current": name == current, "reached": reached[name]}
        for name, title in (("queries", "Queries"), ("policy", "Policy"), ("budget", last))
    ]


STEPS: Mapping[str, Step] = {"queries": _queries, "policy": _policy, "budget": _budget}
