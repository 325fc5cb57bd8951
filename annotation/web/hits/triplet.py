"""One triplet: its texts, what was voted on it, and how its label follows from that."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from annotation.access.roles import ADJUDICATE, SEE_VOTES
from annotation.analytics.quality.label_derivation import derivation, votes_on
from annotation.analytics.quality.text_diff import mark_differences
from annotation.models import Campaign, ItemReport, Triplet
from annotation.pipeline.adjudicate import pile_with
from annotation.web.base.guards import campaign_page
from annotation.web.base.layout import page
from retrieval.ranking.fusion import IN_WORDS

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
    name = request.user.get_username()
    mine = next((label for label in labels if label.expert == name), None)
    may_label = request.user.has_perm(ADJUDICATE, campaign)
    hidden = mine is None and not request.user.has_perm(SEE_VOTES, campaign)
    waits = may_label and not hidden and not (mine and mine.adjudicated)
    context: dict[str, Any] = {
        "triplet": triplet,
        "query": query,
        "question": question,
        "found_by": _found_by(triplet),
        "votes": votes,
        "derivation": derivation(campaign, triplet, votes),
        "labels": labels,
        "reports": _reports(triplet),
        "items": list(triplet.items.select_related("hit").order_by("hit__number")),
        # Who may decide it sees the votes before by a wish of their own alone, or not at all.
        "folded": may_label and mine is None,
        "hidden": hidden,
        "pile": pile_with(triplet, campaign) if waits else None,
    }
    title = f"Triplet {triplet.pk}"
    return page(request, "annotation/hits/triplet.html", context, title=title, campaign=campaign)


def _found_by(triplet: Triplet) -> list[tuple[str, int | None]]:
    ranks = triplet.candidate.found_by or {}
    return [(IN_WORDS.get(name, name), ranks[name]) for name in sorted(ranks)]


def _reports(triplet: Triplet) -> list[ItemReport]:
    reports = ItemReport.objects.filter(item__triplet=triplet)
    return list(reports.select_related("assignment__worker").order_by("pk"))
