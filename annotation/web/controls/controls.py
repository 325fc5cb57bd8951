"""The control pool that campaigns share, a campaign's own controls, and how both are answered."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from annotation.access.roles import CHANGE_CONTROLS, SEE_VOTES, visible_campaigns
from annotation.analytics.quality import review_figures
from annotation.analytics.quality.campaign_leak import leak_warning
from annotation.analytics.quality.control_accuracy import Figures, rates_of
from annotation.models import Campaign, Control, ControlCandidate, ControlDraft
from annotation.pipeline.controls.candidates import control_candidates
from annotation.protocol.policy.policy import Policy
from annotation.protocol.policy.tasks import PAPER_TASK, TASKS
from annotation.protocol.screening.control_accuracy import ControlRate, worst_first
from annotation.web.base.guards import campaign_page, dashboard_page
from annotation.web.base.layout import page
from annotation.web.base.pagination import PART_SIZE, Place, Steps, key_of, window
from annotation.web.campaigns.operation import ask_for
from core.errors import UserError
from core.text.words import percent
from retrieval.models import Job

MOST = 1000  # of the pool, on one page
DOUBTFUL = 0.9  # even at best fewer answers than this are right
REACH = 20_000
TEXTS = ("triplet__candidate__query", "triplet__candidate__pair")
Kind = Control.Kind


@dataclass(frozen=True)
class Line:
    """A control with its rate in words."""

    control: Control
    rate: ControlRate

    @property
    def share(self) -> str:
        return percent(self.rate.share, unknown="")

    @property
    def interval(self) -> str:
        bounds = self.rate.interval
        return f"{percent(bounds[0])} to {percent(bounds[1])}" if bounds else ""

    @property
    def doubtful(self) -> bool:
        bounds = self.rate.interval
        return bounds is not None and bounds[1] < DOUBTFUL


@dataclass(frozen=True)
class Total:
    """Of all controls of a kind that a campaign has shown."""

    controls: int
    rate: ControlRate

    @property
    def share(self) -> str:
        return percent(self.rate.share, unknown="")


@require_safe
@dashboard_page
def controls(request: HttpRequest) -> HttpResponse:
    """All people who enter the dashboard may look."""
    retired = request.GET.get("show") == "retired"
    words = request.GET.get("q", "")[:200].replace("\0", "")
    task = TASKS.get(request.GET.get("task", ""), PAPER_TASK)
    pool = Control.objects.filter(campaign=None, task=task.name, retired_at__isnull=not retired)
    for word in words.split():
        holds = Q(query__icontains=word) | Q(question__icontains=word) | Q(answer__icontains=word)
        pool = pool.filter(holds)
    listed = list(pool.order_by("pk")[: MOST + 1])
    rates = review_figures.of_pool(visible_campaigns(request.user))
    context: dict[str, Any] = {
        "lines": _worst_first(listed[:MOST], rates),
        "cut": len(listed) > MOST,
        "most": MOST,
        "wanted": Policy().control_pool_size,
        "retired": retired,
        "tasks": TASKS.values(),
        "task": task.name,
        "words": words,
        "may_change": request.user.has_perm(CHANGE_CONTROLS),
    }
    return page(request, "annotation/controls/controls.html", context, title="Controls")


@require_safe
@campaign_page()
def campaign_controls(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    counted, exposure = review_figures.with_exposure(campaign)
    figures = counted or {}
    sees_votes = request.user.has_perm(SEE_VOTES, campaign)
    worst = _worst(figures)
    at = Place(key_of(request.GET.get("from", "")), size=PART_SIZE)
    on_page = window(campaign.controls.all(), at=at, reach=REACH)
    steps = Steps(request.GET)
    candidates = _open(campaign) if sees_votes else []
    context: dict[str, Any] = {
        "counted": bool(figures),
        "totals": {kind.value: _total(figures, kind) for kind in Kind},
        "positives": worst[Kind.POSITIVE],
        "negatives": worst[Kind.NEGATIVE],
        "own": _own(campaign),
        "exposure": exposure,
        "leak_warning": leak_warning(campaign),
        "all": on_page,
        "steps": steps,
        "next": on_page.more and steps.next(on_page.more),
        # A blind expert would read which triplets have only Yes votes.
        "control_candidates": candidates[:PART_SIZE],
        "more_candidates": len(candidates) > PART_SIZE,
        "job": newest_job(campaign, "control-candidates"),
        "may_change_pool": request.user.has_perm(CHANGE_CONTROLS),
    }
    return page(
        request,
        "annotation/controls/campaign_controls.html",
        context,
        title="Controls",
        campaign=campaign,
    )


def _own(campaign: Campaign) -> dict[str, int]:
    """What the campaign has of its own; drafts wait for a person."""
    own = campaign.controls.filter(drafted=True, retired_at=None)
    kinds = dict(own.values_list("kind").annotate(controls=Count("pk")))
    return {
        "positives": kinds.get(Kind.POSITIVE, 0),
        "negatives": kinds.get(Kind.NEGATIVE, 0),
        "confirmed": sum(kinds.values()),
        "drafts": campaign.control_drafts.filter(state=ControlDraft.State.OPEN).count(),
    }


@require_POST
@campaign_page(CHANGE_CONTROLS)
def find_control_candidates(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    try:
        ask_for(request, "control-candidates", campaign, {})
    except UserError as error:
        messages.error(request, str(error))
    return redirect("campaign-controls", campaign.name)


def _worst_first(listed: Iterable[Control], rates: dict[int, ControlRate]) -> list[Line]:
    by_key = {control.pk: control for control in listed}
    known = [rates.get(pk) or ControlRate(pk, 0, 0, 0) for pk in by_key]
    return [Line(by_key[rate.control], rate) for rate in worst_first(known)]


def _worst(figures: Figures) -> dict[str, list[Line]]:
    """By kind, of those that are in use."""
    rates = {kind.value: rates_of(figures, kind) for kind in Kind}
    every = [rate.control for some in rates.values() for rate in some]
    usable = Control.objects.filter(pk__in=every, retired_at=None)
    in_use = set(usable.values_list("pk", flat=True))
    worst = {
        kind: [rate for rate in some if rate.control in in_use][:PART_SIZE]
        for kind, some in rates.items()
    }
    shown = usable.in_bulk([rate.control for some in worst.values() for rate in some])
    return {
        kind: [Line(shown[rate.control], rate) for rate in some if rate.control in shown]
        for kind, some in worst.items()
    }


def _total(figures: Figures, kind: str) -> Total:
    counts = figures.get(kind, {"controls": 0, "answered": 0, "right": 0})
    return Total(counts["controls"], ControlRate(0, counts["answered"], counts["right"], 0))


def _open(campaign: Campaign) -> list[ControlCandidate]:
    waiting = control_candidates(campaign).filter(state=ControlCandidate.State.OPEN)
    return list(waiting.select_related(*TEXTS).order_by("pk")[: PART_SIZE + 1])


def newest_job(campaign: Campaign, kind: str) -> Job | None:
    jobs = Job.objects.filter(subject=campaign.name, kind=kind).select_related("requested_by")
    return jobs.order_by("-requested_at").first()
