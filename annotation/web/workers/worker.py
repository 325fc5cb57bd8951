"""One worker: the record, what the rule of exclusion makes of it, and what can be done."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from annotation.access.roles import SEE_VOTES
from annotation.analytics.campaign.charts import Chart, Series
from annotation.analytics.workers.exclusion_impact import excluding, restoring
from annotation.analytics.workers.history import (
    Evidence,
    Reviewed,
    Turn,
    evidence_of,
    page_of,
    reviews_of,
)
from annotation.crowd.worker_notices import reason_of
from annotation.models import Assignment, Campaign, Exclusion, OutboxMessage, Worker, WorkerFigures
from annotation.pipeline.manual.decisions import overturnable_until
from annotation.pipeline.manual.message import letters_of
from annotation.protocol.policy.policy import Policy
from annotation.protocol.screening.exclusion import is_near
from annotation.web.base.chart_tables import as_csv
from annotation.web.base.guards import campaign_page
from annotation.web.base.layout import page
from annotation.web.base.pagination import key_of
from annotation.web.workers.columns import duration, flags_of, rule_of
from annotation.web.workers.pairs import names_of, partners_of
from annotation.web.workers.workers import fresh_workforce
from core.text.money import money
from core.text.words import percent

POINTS = 80  # of the chart
LETTERS = 20  # messages and payments that are shown


@dataclass(frozen=True)
class Past:
    """A line of the history, and what can be done about it by hand."""

    entry: Turn
    time: str
    decision: str
    operation: str  # that is offered; empty: none
    operation_label: str


@dataclass(frozen=True)
class Stay:
    """An exclusion, and its end where it has one."""

    exclusion: Exclusion
    reason: str


@require_safe
@campaign_page(SEE_VOTES)
def worker(request: HttpRequest, campaign: Campaign, pk: int) -> HttpResponse:
    worker, crowd = _worker(campaign, pk), campaign.policy.crowd_traits
    together = fresh_workforce(campaign)
    figures = WorkerFigures.objects.filter(campaign=campaign, worker=worker).first()
    stays = [Stay(one, reason_of(one)) for one in _exclusions(campaign, worker)]
    excluded = any(stay.exclusion.restored_at is None for stay in stays)
    reviews = reviews_of(campaign, worker)
    evidence = evidence_of(campaign.policy, reviews)
    before = key_of(request.GET.get("before", "")) or None
    entries, more = page_of(campaign, worker, before=before, excluded=excluded)
    now = timezone.now()
    name = names_of(campaign, [worker.worker_id]).get(worker.worker_id, "")
    content = {
        "worker": worker,
        "name": name,
        "is_known": request.user.is_staff and worker.past.exists(),
        "excluded": excluded,
        "flags": flags_of(figures, crowd) if figures else [],
        "figures": _figures(campaign, evidence, figures),
        "errors": partners_of(campaign, together, worker.worker_id),
        "stays": stays,
        "rule": crowd.said(rule_of(campaign.policy)),
        "other_rule": crowd.said(by_other_rule(campaign.policy, reviews)),
        "evidence": evidence,
        "verdict": verdict(evidence, campaign.policy, excluded=excluded, restored=bool(stays)),
        "chart": controls_chart(reviews, campaign.policy).said(crowd),
        "letters": _letters(campaign, worker),
        "history": [_past(entry, now) for entry in entries],
        "before": before,
        "more": entries[-1].assignment.pk if more else None,
    }
    title = f"Worker {name or worker.worker_id}"
    return page(request, "annotation/workers/worker.html", content, title=title, campaign=campaign)


@require_safe
@campaign_page(SEE_VOTES)
def exclusion_impact(request: HttpRequest, campaign: Campaign, pk: int) -> HttpResponse:
    """The part of the page that says what an exclusion, or its end, would change.

    By itself: a worker may have cast many thousand votes.
    """
    worker = _worker(campaign, pk)
    excluded = campaign.exclusions.filter(worker=worker, restored_at=None).exists()
    seen = restoring(campaign, worker) if excluded else excluding(campaign, worker)
    content = {
        "excluded": excluded,
        "exclusion_impact": seen,
        "cents": money(seen.cents),
        "buy": money(seen.buy_cents),
    }
    return render(request, "annotation/workers/_exclusion_impact.html", content)


@require_safe
@campaign_page(SEE_VOTES)
def controls_csv(request: HttpRequest, campaign: Campaign, pk: int) -> HttpResponse:
    worker = _worker(campaign, pk)
    chart = controls_chart(reviews_of(campaign, worker), campaign.policy)
    chart = chart.said(campaign.policy.crowd_traits)
    return as_csv(chart, f"{campaign.name}-{worker.worker_id}")


def _worker(campaign: Campaign, pk: int) -> Worker:
    """One who has submitted work here."""
    here = Worker.objects.filter(assignments__hit__campaign=campaign).distinct()
    return get_object_or_404(here, pk=pk)


def _exclusions(campaign: Campaign, worker: Worker) -> list[Exclusion]:
    exclusions = campaign.exclusions.filter(worker=worker).order_by("-pk")
    return list(exclusions.select_related("campaign"))


def verdict(evidence: Evidence, policy: Policy, *, excluded: bool, restored: bool) -> str:
    """What the rule says, in a sentence."""
    if (by := evidence.crossed_by) is not None:
        return (
            f"The rate was crossed with {evidence.crossed_failures:,} of "
            f"{evidence.crossed_reviewed:,}, by assignment {by.assignment} of "
            f"{by.submitted_at:%Y-%m-%d %H:%M} UTC. Once crossed, no later success undoes it"
            + ("." if excluded else "; this worker was restored manually.")
        )
    if excluded:
        return "The rate has not been crossed: this worker was excluded manually."
    if restored:
        return "The rate has not been crossed; this worker was excluded manually and restored."
    if is_near(evidence.failures, evidence.reviewed, policy):
        hit = policy.crowd_traits.hit
        return f"The rate has not been crossed, but one more failed {hit} is enough."
    return "The rate has not been crossed."


def by_other_rule(policy: Policy, reviews: Sequence[Reviewed]) -> str:
    """What the rule that does not govern the campaign would have done."""
    is_share = policy.exclusion_rule == "share"
    name = "sequential rule" if is_share else "rule of a share"
    other = replace(policy, exclusion_rule="sequential" if is_share else "share")
    seen = evidence_of(other, reviews)
    if seen.crossed_by is None:
        return f"The {name} would not have excluded this worker."
    return (
        f"The {name} would have excluded this worker with {seen.crossed_failures:,} of "
        f"{seen.crossed_reviewed:,} HITs failed."
    )


def controls_chart(reviews: Sequence[Reviewed], policy: Policy) -> Chart:
    """The share of failed HITs after each review, thinned where there are many."""
    failures, shares = 0, []
    for number, one in enumerate(reviews, start=1):
        failures += not one.passed
        shares.append(round(100 * failures / number, 2))
    step = max(1, -(-len(shares) // POINTS))
    chosen = [place for place in range(len(shares)) if (place + 1) % step == 0]
    if shares and (not chosen or chosen[-1] != len(shares) - 1):
        chosen.append(len(shares) - 1)
    limit = float(100 * Fraction(str(policy.max_failure_rate)))
    return Chart(
        key="controls",
        title="Failed controls as the reviews went on",
        kind="line",
        axis="Reviewed HITs",
        labels=[f"{place + 1:,}" for place in chosen],
        places=[place + 1 for place in chosen],
        series=[
            Series("Failed so far, %", [shares[place] for place in chosen]),
            Series("Allowed, %", [limit for _ in chosen]),
        ],
        unit="%",
        note="The rule allows more failures than that while few HITs are reviewed."
        if policy.exclusion_rule == "sequential"
        else f"The rule is applied from {policy.min_assignments:,} reviewed HITs on.",
    )


def _figures(
    campaign: Campaign, evidence: Evidence, figures: WorkerFigures | None
) -> list[tuple[str, str, str]]:
    """What, how much, and a word more."""
    said = campaign.policy.crowd_traits.said
    rows = [
        (
            "Failed controls",
            percent(evidence.rate, 0),
            said(f"{evidence.failures:,} of {evidence.reviewed:,} reviewed HITs"),
        )
    ]
    if figures is None:
        return rows
    rows.insert(0, (said("HITs submitted"), f"{figures.submitted:,}", f"{figures.timed:,} timed"))
    of = f"of {figures.compared:,} votes that others have a majority on"
    rows.append(("Agreement with others", percent(figures.agreement, 0), of))
    if figures.median_ms is not None:
        rows.append((said("Time a HIT"), duration(figures.median_ms), "median of the active time"))
    if figures.hourly_cents is not None:
        rows.append(("Hourly wage", money(figures.hourly_cents), "by the active time"))
    if figures.reports:
        rows.append(("Reports", f"{figures.reports:,}", "items reported as wrong"))
    if figures.cannot_judge:
        share = "of these reports, instead of an answer"
        rows.append(("Can't judge", f"{figures.cannot_judge:,}", share))
    return rows


def _letters(campaign: Campaign, worker: Worker) -> list[OutboxMessage]:
    """Messages, bonuses and overturned rejections, the newest first."""
    return list(letters_of(campaign, worker).order_by("-pk")[:LETTERS])


def _past(entry: Turn, now: datetime) -> Past:
    assignment = entry.assignment
    operation, words = _operation(assignment, now)
    ms = entry.active_ms
    return Past(entry, "" if ms is None else duration(ms), _decision(assignment), operation, words)


def _decision(assignment: Assignment) -> str:
    if assignment.passed is None:
        return "not reviewed yet"
    if assignment.status == Assignment.Status.SUBMITTED:
        return "not at the crowd yet"
    if assignment.account == Assignment.Booked.DISCARDED:
        return "approved, votes discarded"
    return str(assignment.get_status_display()).lower()


def _operation(assignment: Assignment, now: datetime) -> tuple[str, str]:
    is_paid = assignment.hit.price_cents > 0
    approve, bonus = ("Pay", ("bonus", "Bonus")) if is_paid else ("Approve", ("", ""))
    if assignment.passed is None:
        return "", ""
    if assignment.status == Assignment.Status.SUBMITTED:
        return ("reject", "Reject") if assignment.passed else ("approve", approve)
    if assignment.status == Assignment.Status.REJECTED:
        until = overturnable_until(assignment)
        late = until is not None and until <= now
        return bonus if late else ("approve", f"{approve} after all")
    return bonus
