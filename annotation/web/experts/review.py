"""What needs a person's eye: unresolved triplets, disagreements that matter, what was reported."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from annotation.access.roles import SEE_VOTES
from annotation.analytics.workers.item_reports import ReportedItem, read_items
from annotation.models import Campaign, ExpertLabel, HitItem, ItemReport, Triplet
from annotation.pipeline.labelling.disagreements import (
    MOST,
    WEIGHED_AT_ONCE,
    most_important,
    split_of,
)
from annotation.pipeline.publishing.takers import waiting_for_somebody
from annotation.web.base.guards import campaign_page
from annotation.web.base.layout import page
from annotation.web.base.pagination import PART_SIZE

TEXTS = ("candidate__query", "candidate__pair")
MOST_REPORTS = 200  # the newest ones


@dataclass(frozen=True)
class Disputed:
    """Nothing here tells which way the votes went: a reader may be asked for a label."""

    triplet: Triplet
    weight: float
    decisive: bool
    experts: int  # who have labelled it

    @property
    def split(self) -> str:
        return split_of(self.triplet)


@dataclass(frozen=True)
class Reported:
    item: ReportedItem
    triplet: int | None


@require_safe
@campaign_page()
def review(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    unresolved = campaign.triplets.filter(status=Triplet.Status.UNRESOLVED)
    listed = list(unresolved.select_related(*TEXTS).order_by("pk")[: PART_SIZE + 1])
    # That no other candidate is positive would tell a blind expert their labels.
    sees_votes = request.user.has_perm(SEE_VOTES, campaign)
    disputed, disagreements = _disputed(campaign) if sees_votes else ([], 0)
    open_ones = waiting_for_somebody(campaign, timezone.now()).select_related(*TEXTS)
    waiting = list(open_ones.order_by("pk")[: PART_SIZE + 1])
    reported = _reported(campaign)
    context: dict[str, Any] = {
        "unresolved": listed[:PART_SIZE],
        "more_unresolved": len(listed) > PART_SIZE,
        "waiting": waiting[:PART_SIZE],
        "more_waiting": len(waiting) > PART_SIZE,
        "disputed": disputed,
        "disagreements": disagreements,
        "decides": campaign.policy.adjudication == "decide",
        "most": MOST,
        "weighed_at_once": WEIGHED_AT_ONCE,
        "reported": reported[:PART_SIZE],
        "more_reported": len(reported) > PART_SIZE,
    }
    return page(
        request, "annotation/experts/review.html", context, title="Review", campaign=campaign
    )


def _disputed(campaign: Campaign) -> tuple[list[Disputed], int]:
    """The first of the list, and how long that is."""
    disagreements = most_important(campaign)
    shown = disagreements[:PART_SIZE]
    pks = [one.triplet for one in shown]
    triplets = campaign.triplets.select_related(*TEXTS).in_bulk(pks)
    experts = [*ExpertLabel.objects.filter(triplet__in=pks).values_list("triplet_id", flat=True)]
    rows = [
        Disputed(triplets[one.triplet], one.weight, one.decisive, experts.count(one.triplet))
        for one in shown
        if one.triplet in triplets
    ]
    return rows, len(disagreements)


def _reported(campaign: Campaign) -> list[Reported]:
    newest = ItemReport.objects.filter(item__hit__campaign=campaign).order_by("-pk")
    items = list(dict.fromkeys(newest.values_list("item", flat=True)[:MOST_REPORTS]))
    triplets = dict(HitItem.objects.filter(pk__in=items).values_list("pk", "triplet_id"))
    items = items[: PART_SIZE + 1]
    return [Reported(item, triplets[pk]) for pk, item in zip(items, read_items(items), strict=True)]
