"""One triplet: its texts, what was voted on it, and how its label follows from that."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from annotation.access.roles import ADJUDICATE
from annotation.analytics.quality.label_derivation import derivation, votes_on
from annotation.analytics.quality.text_diff import mark_differences
from annotation.models import Campaign, ItemReport, Triplet
from annotation.pipeline.gold.adjudicate import What
from annotation.web.base.guards import campaign_page
from annotation.web.base.layout import page

TEXTS = ("candidate__query", "candidate__pair")


@require_safe
@campaign_page()
def triplet_page(request: HttpRequest, campaign: Campaign, pk: int) -> HttpResponse:
    triplet = get_object_or_404(campaign.triplets.select_related(*TEXTS), pk=pk)
    votes = votes_on(campaign, triplet)
    labels = list(triplet.expert_labels.order_by("pk"))
    query, question = mark_differences(
        triplet.candidate.query.text, triplet.candidate.pair.question
    )
    mine = request.user.get_username()
    # Who may still be asked for a blind label sees the votes by a wish of their own alone.
    folded = request.user.has_perm(ADJUDICATE, campaign) and all(
        label.expert != mine for label in labels
    )
    context: dict[str, Any] = {
        "triplet": triplet,
        "query": query,
        "question": question,
        "found_by": sorted((triplet.candidate.found_by or {}).items()),
        "votes": votes,
        "derivation": derivation(campaign, triplet, votes),
        "labels": labels,
        "reports": _reports(triplet),
        "items": list(triplet.items.select_related("hit").order_by("hit__number")),
        "folded": folded,
        "pile": _pile(triplet) if folded else None,
    }
    title = f"Triplet {triplet.pk}"
    return page(request, "annotation/hits/triplet.html", context, title=title, campaign=campaign)


def _pile(triplet: Triplet) -> What | None:
    """Of the expert's page that has the triplet."""
    if triplet.status == Triplet.Status.UNRESOLVED:
        return What.UNRESOLVED
    settled = triplet.status != Triplet.Status.OPEN
    return What.DISAGREEMENT if settled and 0 < triplet.positive_votes < triplet.votes else None


def _reports(triplet: Triplet) -> list[ItemReport]:
    found = ItemReport.objects.filter(item__triplet=triplet)
    return list(found.select_related("assignment__worker").order_by("pk"))
