"""One HIT: what workers are shown, what they answered, and what the crowd and the ledger say."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.decorators.http import require_safe

from annotation.access.roles import SEE_VOTES
from annotation.analytics.quality.hit_states import HitState, with_state
from annotation.models import (
    Assignment,
    Campaign,
    Entry,
    Hit,
    HitItem,
    ItemReport,
    Judgment,
    OutboxMessage,
)
from annotation.protocol.screening.behaviour import CANNOT_JUDGE
from annotation.web.base.guards import campaign_page
from annotation.web.base.layout import page
from core.text.money import money

ITEMS = ("control", "triplet__candidate__query", "triplet__candidate__pair")
MOST = 200  # calls and entries; a HIT has a few for each of its assignments


@dataclass(frozen=True)
class ItemRow:
    """An item as the page has it: a triplet's texts or a control's."""

    item: HitItem
    query: str
    question: str
    answer: str
    expected: int | None  # of a control
    answers: list[int | str | None]  # of the assignments, in their order; None: it was left out


@dataclass(frozen=True)
class Booked:
    entry: Entry
    sum: str


@require_safe
@campaign_page(SEE_VOTES)
def hit_record(request: HttpRequest, campaign: Campaign, pk: int) -> HttpResponse:
    hits = with_state(campaign.hits.select_related("instructions"), timezone.now())
    hit = get_object_or_404(hits, pk=pk)
    submitted = Assignment.with_rejection(hit.assignments.select_related("worker"))
    assignments = list(submitted.order_by("submitted_at", "pk"))
    context: dict[str, Any] = {
        "hit": hit,
        "state": HitState(hit.condition),
        "price": money(hit.price_cents),
        "assignments": assignments,
        "items": _items(hit, assignments),
        "outbox_messages": _messages(hit),
        "entries": _entries(hit),
    }
    return page(
        request, "annotation/hits/hit.html", context, title=f"HIT {hit.number}", campaign=campaign
    )


def _items(hit: Hit, assignments: list[Assignment]) -> list[ItemRow]:
    answers: defaultdict[int, dict[int, int | str]] = defaultdict(dict)
    given = Judgment.objects.filter(assignment__in=assignments)
    for item, assignment, value in given.values_list("item", "assignment", "value"):
        answers[item][assignment] = value
    reports = ItemReport.objects.filter(assignment__in=assignments, cannot_judge=True)
    for item, assignment in reports.values_list("item", "assignment"):
        answers[item][assignment] = CANNOT_JUDGE
    return [
        _item(item, [answers[item.pk].get(assignment.pk) for assignment in assignments])
        for item in hit.items.select_related(*ITEMS).order_by("position")
    ]


def _item(item: HitItem, answers: list[int | str | None]) -> ItemRow:
    if item.control is not None:
        control = item.control
        texts = control.query, control.question, control.answer
        return ItemRow(item, *texts, control.expected, answers)
    assert item.triplet is not None  # a constraint says so
    candidate = item.triplet.candidate
    texts = candidate.query.text, candidate.pair.question, candidate.pair.answer
    return ItemRow(item, *texts, None, answers)


def _messages(hit: Hit) -> list[OutboxMessage]:
    """The HIT's own, then those of its assignments: two indexes, where one condition has none."""
    own = OutboxMessage.objects.filter(hit=hit)
    theirs = OutboxMessage.objects.filter(assignment__hit=hit, hit=None).select_related(
        "assignment"
    )
    return [*own.order_by("pk")[:MOST], *theirs.order_by("pk")[:MOST]]


def _entries(hit: Hit) -> list[Booked]:
    ours = Entry.objects.filter(hit=hit).select_related("assignment").order_by("pk")
    theirs = Entry.objects.filter(assignment__hit=hit, hit=None).select_related("assignment")
    entries = [*ours[:MOST], *theirs.order_by("pk")[:MOST]]
    return [Booked(entry, money(entry.cents)) for entry in entries]
