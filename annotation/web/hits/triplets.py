"""A campaign's triplets: searched by their words, filtered by what is known of them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from django import forms
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from annotation.access.roles import SEE_VOTES
from annotation.models import Campaign, Triplet
from annotation.web.base.columns import NUMBER, WIDE, WIDE_NUMBER, Column
from annotation.web.base.filters import TripletFilter
from annotation.web.base.guards import campaign_page
from annotation.web.base.list_page import Listed, list_page
from annotation.web.base.pagination import Place, Window, key_of, window
from retrieval.corpus.question_words import pks_with, with_words
from retrieval.models import Candidate, QaPair

TEXTS = ("candidate__query", "candidate__pair")
REACH = 20_000  # triplets that one page looks through
TEXT_REACH = 5_000  # whose questions it reads, where no index leads to them
AT_ONCE = 500  # questions read in one query
MOST_PAIRS = 1_000  # with the words of a search; where there are more, it reads triplet by triplet
MOST_QUERIES = 50  # whose triplets a search shows
QUERIES_READ = 50_000  # of a query set, that a search looks through
LONGEST = 200
MANY = (
    "More than {0} queries have these words: here are the triplets of the first {0}. Another word "
    "narrows it."
)


class TripletSearch(TripletFilter):
    field_order = ("q", "within")
    q = forms.CharField(
        label="Search", required=False, max_length=LONGEST, help_text="Words, or a triplet's number"
    )
    within = forms.ChoiceField(
        label="In", required=False, choices=[("query", "Queries"), ("question", "Questions")]
    )


@require_safe
@campaign_page(SEE_VOTES)
def triplets(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    return list_page(request, campaign, LISTED)


def _window_of(campaign: Campaign, asked: TripletSearch, at: Place) -> Window:
    rows = campaign.triplets.filter(asked.where("status", "query")).select_related(*TEXTS)
    where, q = asked.where("label", "votes", "from_rank", "to_rank"), asked.cleaned_data["q"]
    words = q.split()
    if q.isascii() and q.isdigit():
        rows, words = rows.filter(pk=key_of(q)), []
    elif words and asked.cleaned_data["within"] != "question":
        queries = _queries(campaign, words)
        rows = rows.filter(where, candidate__query__in=queries[:MOST_QUERIES])
        note = MANY.format(MOST_QUERIES) if len(queries) > MOST_QUERIES else ""
        return replace(window(rows, at=at, reach=REACH), note=note)
    if words and (candidates := _candidates(campaign, words)) is not None:
        return window(rows.filter(where, candidate__in=candidates), at=at, reach=REACH)
    if words:
        rows = rows.filter(where)
        narrow = partial(_with_words, words, None if at.order else at.most)
        return window(rows, at=at, where=narrow, reach=TEXT_REACH)
    return window(rows, at=at, where=where, reach=REACH)


def _candidates(campaign: Campaign, words: Sequence[str]) -> list[int] | None:
    """By an index; None: there is none, or it leads to too many."""
    if (pairs := pks_with(words, MOST_PAIRS)) is None:
        return None
    there = Candidate.objects.filter(query__query_set=campaign.query_set, pair__in=pairs)
    candidates = list(there.order_by().values_list("pk", flat=True)[: TEXT_REACH + 1])
    return candidates if len(candidates) <= TEXT_REACH else None


def _with_words(words: Sequence[str], most: int | None, near: QuerySet[Triplet]) -> Q:
    """At least the first `most + 1` that match; None: all of them. Step by step: in one, PostgreSQL
    would rather read every candidate and pair there is."""
    within = list(near.values_list("candidate", flat=True))
    fitting: list[int] = []
    for start in range(0, len(within), AT_ONCE):
        fitting += _fitting(words, within[start : start + AT_ONCE])
        if most is not None and len(fitting) > most:
            break
    return Q(candidate__in=fitting)


def _fitting(words: Sequence[str], within: Sequence[int]) -> list[int]:
    with_pairs = Candidate.objects.filter(pk__in=within).order_by().values_list("pk", "pair_id")
    candidates = dict(with_pairs)
    fitting = set(with_words(words, QaPair.objects.filter(pk__in=set(candidates.values()))))
    return [one for one, pair in candidates.items() if pair in fitting]


def _queries(campaign: Campaign, words: Sequence[str]) -> list[int]:
    """One more than are shown, where there are more: those with all the words, in their order."""
    queries: QuerySet[Any] = campaign.query_set.queries.filter(position__lt=QUERIES_READ)
    for word in words:
        queries = queries.filter(text__icontains=word)
    pks = queries.order_by("position").values_list("pk", flat=True)
    return list(pks[: MOST_QUERIES + 1])


LISTED = Listed(
    "Triplets",
    "triplets",
    TripletSearch,
    _window_of,
    key="triplet",
    columns=[
        Column("label", "Label", "label"),
        Column("query", "Query", "candidate__query__position"),
        Column("question", "Question", "candidate__pair__question"),
        Column("rank", "Rank", "candidate__rank", WIDE_NUMBER),
        Column("votes", "Votes", "votes", NUMBER),
        Column("yes", "Yes", "positive_votes", WIDE_NUMBER),
        Column("triplet", "Triplet", "pk", WIDE),
    ],
    figure="triplets",
    cells={
        "triplet": lambda row: row.pk,
        "query_id": lambda row: row.candidate.query.key,
        "query": lambda row: row.candidate.query.text,
        "question": lambda row: row.candidate.pair.question,
        "rank": lambda row: row.candidate.rank,
        "votes": lambda row: row.votes,
        "positive_votes": lambda row: row.positive_votes,
        "cannot_judge": lambda row: row.cannot_judge,
        "status": lambda row: row.status,
        "label": lambda row: row.label,
        "label_source": lambda row: row.label_source,
    },
)
