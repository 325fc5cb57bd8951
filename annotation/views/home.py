"""The first page: what Quorum is, and the campaigns for the staff."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.models import Account, Assignment, Campaign, Hit, Triplet
from annotation.pipeline.money import dollars
from annotation.protocol.cost import is_free
from retrieval.models import Query


@dataclass(frozen=True)
class CampaignRow:
    name: str
    state: str
    has_money: bool
    spent: str
    reserved: str
    budget: str
    queries: int
    hits: int
    published: int
    submitted: int
    triplets: int
    labelled: int
    open: int
    unresolved: int


@never_cache
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """What Quorum is for everybody; the campaigns for the staff alone, for they are private."""
    if not (request.user.is_active and request.user.is_staff):
        return render(request, "annotation/landing.html")
    return render(request, "annotation/home.html", {"campaigns": _campaign_rows()})


def _campaign_rows() -> list[CampaignRow]:
    """A fixed number of queries, however many campaigns there are."""
    counts = _Counts.read()
    return [_row(campaign, counts) for campaign in Campaign.objects.order_by("-created_at", "-pk")]


@dataclass(frozen=True)
class _Counts:
    """Of all campaigns at once, by their keys."""

    queries: Mapping[int, int]  # of a query set
    hits: Mapping[int, tuple[int, int]]  # all, and the published ones
    submitted: Mapping[int, int]
    triplets: Mapping[tuple[int, str], int]  # by campaign and status
    accounts: Mapping[int, Account]

    @classmethod
    def read(cls) -> Self:
        hits = Hit.objects.values_list("campaign").annotate(Count("pk"), Count("crowd_id"))
        triplets = Triplet.objects.values_list("campaign", "status").annotate(Count("pk"))
        return cls(
            queries=dict(Query.objects.order_by().values_list("query_set").annotate(Count("pk"))),
            hits={campaign: (count, published) for campaign, count, published in hits},
            submitted=dict(Assignment.objects.values_list("hit__campaign").annotate(Count("pk"))),
            triplets={(campaign, status): count for campaign, status, count in triplets},
            accounts={account.campaign_id: account for account in Account.objects.all()},
        )


def _row(campaign: Campaign, counts: _Counts) -> CampaignRow:
    money = counts.accounts.get(campaign.pk, Account())
    packed, published = counts.hits.get(campaign.pk, (0, 0))
    labelled, still_open, unresolved = (
        counts.triplets.get((campaign.pk, status), 0)
        for status in (Triplet.Status.LABELLED, Triplet.Status.OPEN, Triplet.Status.UNRESOLVED)
    )
    return CampaignRow(
        name=campaign.name,
        state=campaign.state,
        has_money=not is_free(campaign.policy) or money.budget_cents > 0,
        spent=dollars(money.spent_cents),
        reserved=dollars(money.reserved_cents),
        budget=dollars(money.budget_cents),
        queries=counts.queries.get(campaign.query_set_id, 0),
        hits=packed,
        published=published,
        submitted=counts.submitted.get(campaign.pk, 0),
        triplets=labelled + still_open + unresolved,
        labelled=labelled,
        open=still_open,
        unresolved=unresolved,
    )
