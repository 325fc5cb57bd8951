"""The campaigns that the reader has a part in, each with where it stands."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import OuterRef, Subquery
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from annotation.access.roles import CREATE, visible_campaigns
from annotation.analytics.campaign.completion import COMPLETE, CampaignState, as_stored
from annotation.models import Account, Campaign, Snapshot
from annotation.pipeline.publishing.completion import complete
from annotation.protocol.estimates.cost import is_free
from annotation.web.base.guards import dashboard_page
from annotation.web.base.layout import page
from annotation.web.campaigns.overview_data import finish
from annotation.web.campaigns.setup import running_job, steps_of
from core.text.money import money

PAGE_SIZE = 50


@dataclass(frozen=True)
class Row:
    campaign: Campaign
    state: CampaignState
    figures: dict[str, Any] | None  # None: nobody has counted yet
    finish: str
    spent: str  # empty where no money moves
    budget: str
    reserved: str


@require_safe
@dashboard_page
def campaigns(request: HttpRequest) -> HttpResponse:
    """The latest first; `?before=` the last one of the page before."""
    visible = visible_campaigns(request.user)
    shown = visible.select_related("account", "query_set").order_by("-pk")
    before = request.GET.get("before", "")
    if before.isdecimal() and len(before) < 19:
        shown = shown.filter(pk__lt=int(before))
    first = visible.filter(query_set=OuterRef("query_set__part_of")).values("name")
    on_page = list(shown.annotate(newest=_newest(), part_of_name=first)[: PAGE_SIZE + 1])
    context = {
        "rows": _rows(on_page[:PAGE_SIZE]),
        "before": on_page[PAGE_SIZE - 1].pk if len(on_page) > PAGE_SIZE else None,
        "is_first": not before,
        "may_create": request.user.has_perm(CREATE),
        **_setup(request, len(on_page)),
    }
    return page(request, "annotation/campaigns/campaigns.html", context, title="Campaigns")


def _setup(request: HttpRequest, campaigns: int) -> dict[str, Any]:
    """The way to a first campaign that runs, as long as there are not two."""
    steps = steps_of(request.user) if campaigns < 2 else []
    return {"setup": steps, "job": running_job() if steps else None}


def _newest() -> Subquery:
    snapshots = Snapshot.objects.filter(campaign=OuterRef("pk")).order_by("-at", "-pk")
    return Subquery(snapshots.values("pk")[:1])


def _rows(page: Iterable[Campaign]) -> list[Row]:
    """Three queries, however many there are."""
    keys = {campaign.pk: getattr(campaign, "newest", None) for campaign in page}
    snapshots = Snapshot.objects.in_bulk([key for key in keys.values() if key])
    done = set(Campaign.objects.filter(complete(), pk__in=keys).values_list("pk", flat=True))
    return [
        _row(
            campaign,
            COMPLETE if campaign.pk in done else as_stored(campaign),
            snapshots.get(keys[campaign.pk] or 0),
        )
        for campaign in page
    ]


def _row(campaign: Campaign, state: CampaignState, last: Snapshot | None) -> Row:
    account: Account = getattr(campaign, "account", None) or Account()
    moves = not is_free(campaign.policy) or account.budget_cents > 0
    return Row(
        campaign=campaign,
        state=state,
        figures=last.figures if last else None,
        finish=finish(campaign, last) if last else "",
        spent=money(account.spent_cents) if moves else "",
        budget=money(account.budget_cents),
        reserved=money(account.reserved_cents),
    )
