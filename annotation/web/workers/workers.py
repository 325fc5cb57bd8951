"""Who works on a campaign and how: figures that were made after a pass, sorted and searched."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from django.core.paginator import Paginator
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from annotation.access.roles import SEE_VOTES
from annotation.analytics.campaign import snapshots
from annotation.analytics.campaign.charts import Chart, Series
from annotation.analytics.workers import worker_figures
from annotation.analytics.workers.effort import BARS
from annotation.analytics.workers.item_reports import read_items
from annotation.crowd.inhouse.members import members_named
from annotation.models import Campaign, Exclusion, WorkerFigures, Workforce
from annotation.web.base.chart_tables import as_csv
from annotation.web.base.columns import heading, order_of, ordering
from annotation.web.base.guards import campaign_page
from annotation.web.base.layout import page
from annotation.web.base.list_page import Cells, csv_file
from annotation.web.base.pagination import counted
from annotation.web.base.saved_views import seen
from annotation.web.workers.columns import (
    USUAL_ORDER,
    WorkerColumn,
    columns_of,
    duration,
    flags_of,
    rule_of,
)
from annotation.web.workers.pairs import names_of, pairs_of
from core.sqlite_busy import if_free
from core.text.money import money

PAGE_SIZE = 50
LAST_PAGE = 10_000
LONGEST_SEARCH = 100

SHOWN = {
    "": "All",
    "excluded": "Excluded",
    "near": "Near the limit",
    "fast": "Fast",
    "one-answer": "One answer throughout",
}
FILTERS = {
    "excluded": Q(excluded=True),
    # A worker whom a person restored is not excluded again by the rule.
    "near": Q(near=True, ever_excluded=False),
    "fast": Q(fast=True),
    "one-answer": Q(one_answer=True),
}


@dataclass(frozen=True)
class Row:
    """A worker's line of the table, in words."""

    pk: int
    worker: str
    name: str  # of a member of one's own team; of others nothing is known
    excluded: bool
    near: bool
    flags: Sequence[str]
    cells: Sequence[str]  # of the other columns


@require_safe
@campaign_page(SEE_VOTES)
def workers(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    together, crowd = fresh_workforce(campaign), campaign.policy.crowd_traits
    columns = columns_of(campaign)
    order = order_of(request.GET.get("sort", ""), columns, USUAL_ORDER)
    search = request.GET.get("q", "").replace("\0", "").strip()[:LONGEST_SEARCH]
    show = request.GET.get("show", "")
    number = _page_number(request.GET.get("page", ""))
    chosen = _chosen(campaign, search, show).order_by(
        *ordering(order, columns, ties="worker__worker_id")
    )
    if request.GET.get("as") == "csv":
        cells = _cells(campaign, chosen)
        return csv_file(f"{campaign}-workers", cells, chosen.iterator(chunk_size=1000))
    start = (number - 1) * PAGE_SIZE
    on_page = list(chosen[start : start + PAGE_SIZE + 1])
    content = {
        "together": together,
        "figures": _figures(campaign, together) if together else [],
        "pairs": pairs_of(campaign, together),
        "chart": times_chart(together).said(crowd) if together else None,
        "rule": crowd.said(rule_of(campaign.policy)),
        "headings": seen([heading(column, order) for column in columns], request),
        "rows": _rows(campaign, on_page[:PAGE_SIZE], columns),
        "search": search,
        "show": show,
        "shown": SHOWN,
        "order": order,
        "total": counted(chosen),
        "number": number,
        "previous": number - 1,
        "next": number + 1 if len(on_page) > PAGE_SIZE else None,
    }
    return page(
        request, "annotation/workers/workers.html", content, title="Workers", campaign=campaign
    )


@require_safe
@campaign_page(SEE_VOTES)
def times_csv(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    together = worker_figures.newest(campaign)
    return as_csv(times_chart(together).said(campaign.policy.crowd_traits), campaign.name)


@require_safe
@campaign_page(SEE_VOTES)
def reports(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """What workers have reported as wrong, the items that most of them have reported first."""
    together = fresh_workforce(campaign)
    items: list[int] = together.figures["reported"] if together else []
    reported = Paginator(items, PAGE_SIZE).get_page(request.GET.get("page"))
    content = {
        "reported": reported,
        "items": read_items(list(reported)),
        "most": worker_figures.MOST_REPORTED,
        "is_cut": len(items) == worker_figures.MOST_REPORTED,
    }
    title = "Reported items"
    return page(request, "annotation/hits/reports.html", content, title=title, campaign=campaign)


def fresh_workforce(campaign: Campaign) -> Workforce | None:
    """Made again first, where the campaign is small, the figures are old and nobody writes."""
    last = worker_figures.newest(campaign)
    if worker_figures.is_old(campaign, last) and snapshots.is_small(campaign):
        return if_free(partial(worker_figures.take, campaign), otherwise=last)
    return last


def times_chart(together: Workforce | None) -> Chart:
    figures = together.figures if together and together.figures["timed"] else None
    step, counts = (figures["step_s"], figures["counts"]) if figures else (1, [])
    ends = [duration(one * step * 1000) for one in range(BARS + 1)]
    labels = [f"{ends[one]} to {ends[one + 1]}" for one in range(len(counts))]
    if labels:
        labels[-1] = f"{ends[len(counts) - 1]} and longer"
    return Chart(
        key="times",
        title="Active time of a HIT",
        kind="bar",
        axis="Active time",
        labels=labels,
        series=[Series("HITs", counts)],
        unit="HITs",
        note="Only the time in which the page was visible and the worker did something; the last "
        "bar holds all that took longer. Browsers report it: treat it as an "
        "indication only.",
    )


def _page_number(text: str) -> int:
    whole = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 1
    return min(max(1, whole), LAST_PAGE)


def _chosen(campaign: Campaign, search: str, show: str) -> QuerySet[WorkerFigures]:
    mine = Exclusion.objects.filter(campaign=campaign, worker=OuterRef("worker"))
    rows = WorkerFigures.objects.filter(campaign=campaign).annotate(
        excluded=Exists(mine.filter(restored_at=None)), ever_excluded=Exists(mine)
    )
    if search:
        named = Q(worker__worker_id__icontains=search)
        if campaign.policy.crowd_traits.has_accounts:
            named |= Q(worker__worker_id__in=members_named(search))
        rows = rows.filter(named)
    return rows.filter(FILTERS.get(show, Q())).select_related("worker")


def _rows(
    campaign: Campaign, page: Sequence[WorkerFigures], columns: Sequence[WorkerColumn]
) -> list[Row]:
    names = names_of(campaign, [row.worker.worker_id for row in page])
    return [
        Row(
            pk=row.worker_id,
            worker=row.worker.worker_id,
            name=names.get(row.worker.worker_id, ""),
            excluded=row.excluded,  # type: ignore[attr-defined]  # annotated above
            near=row.near and not row.ever_excluded,  # type: ignore[attr-defined]
            flags=flags_of(row, campaign.policy.crowd_traits),
            cells=[column.cell(row) for column in columns if column.name != "worker"],
        )
        for row in page
    ]


def _cells(campaign: Campaign, chosen: QuerySet[WorkerFigures]) -> Cells:
    names = names_of(campaign, chosen.values_list("worker__worker_id", flat=True))
    return {
        "worker": lambda row: row.worker.worker_id,
        "name": lambda row: names.get(row.worker.worker_id, ""),
        **CELLS,
    }


CELLS: Cells = {
    "excluded": lambda row: row.excluded,
    "submitted": lambda row: row.submitted,
    "reviewed": lambda row: row.reviewed,
    "failed": lambda row: row.failed,
    "agreement": lambda row: row.agreement,
    "compared": lambda row: row.compared,
    "median_ms": lambda row: row.median_ms,
    "hourly_cents": lambda row: row.hourly_cents,
    "straight_share": lambda row: row.straight_share,
    "changes_per_hit": lambda row: row.changes_per_hit,
    "reports": lambda row: row.reports,
    "cannot_judge": lambda row: row.cannot_judge,
}


def _figures(campaign: Campaign, together: Workforce) -> list[tuple[str, str, str]]:
    """What, how much, and a word more."""
    seen = together.figures
    excluded = Exclusion.in_force(campaign).count()
    said = campaign.policy.crowd_traits.said
    figures = [
        ("Workers", f"{seen['workers']:,}", f"{excluded:,} excluded"),
        (said("HITs submitted"), f"{seen['submitted']:,}", f"{seen['timed']:,} timed"),
    ]
    if seen["median_ms"] is not None:
        figures.append(
            (said("Time a HIT"), duration(seen["median_ms"]), "median of the active time")
        )
    middle, pooled = seen["hourly_cents_median"], seen["hourly_cents_pooled"]
    if middle is not None and pooled is not None:
        words = f"worker in the middle; {money(pooled)} all work together"
        figures.append(("Hourly wage", money(middle), words))
    return figures
