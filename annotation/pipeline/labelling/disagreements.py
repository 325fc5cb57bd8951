"""Triplets whose judges disagree, those that matter most first."""

from collections.abc import Iterable, Iterator
from heapq import nsmallest
from typing import Any, NamedTuple

from django.db.models import Count, F, Q, QuerySet

from annotation.models import Campaign, ReviewFigures, Triplet
from annotation.pipeline.labelling.votes import ROWS
from annotation.protocol.labels.disagreement_weight import disagreement_weight
from annotation.protocol.policy.policy import Policy

MOST = 200  # are listed
WEIGHED_AT_ONCE = 500  # while somebody waits; of more, the list is made beforehand
STORED = "disagreements"  # in the stored figures


class Disagreement(NamedTuple):
    triplet: int
    weight: float
    decisive: bool  # no other candidate of its query is labelled positive


class _Row(NamedTuple):
    triplet: int
    votes: int
    positive: int
    label: int | None
    rank: int
    query: int


COLUMNS = ("pk", "votes", "positive_votes", "label", "candidate__rank", "candidate__query")


def disagreements(campaign: Campaign) -> QuerySet[Triplet]:
    """At least one vote against another, and none to come: found by an index of just these."""
    settled = campaign.triplets.exclude(status=Triplet.Status.OPEN)
    return settled.filter(positive_votes__gt=0, positive_votes__lt=F("votes"))


def open_ties(campaign: Campaign) -> QuerySet[Triplet]:
    """One more vote is wanted: there are as many for as against, or somebody can't judge it."""
    return campaign.triplets.filter(said_enough(campaign.policy), status=Triplet.Status.OPEN)


def said_enough(policy: Policy) -> Q:
    """As many as a first round asks have voted, or said that they can't: none of them may come."""
    return Q(votes__gte=policy.annotators - F("cannot_judge"))


def split_of(triplet: Triplet) -> str:
    """Not which way the votes went: a reader may be asked for a label."""
    yes, no = triplet.positive_votes, triplet.votes - triplet.positive_votes
    return f"{max(yes, no)} : {min(yes, no)}"


def undecided_disagreements(campaign: Campaign) -> QuerySet[Triplet]:
    """Without those that an expert has decided."""
    return disagreements(campaign).exclude(label_source=Triplet.LabelSource.EXPERT)


def weigh_all(campaign: Campaign) -> list[list[Any]]:
    """The first MOST of all there are, to be stored."""
    rows = undecided_disagreements(campaign).order_by("pk").values_list(*COLUMNS)
    disputed = map(_Row._make, rows.iterator(chunk_size=ROWS))
    return [list(one) for one in _first(_weigh(disputed, _positives(campaign.triplets.all())))]


def most_important(campaign: Campaign) -> list[Disagreement]:
    """Few are weighed now; of many, the stored list, without what was settled since."""
    rows = undecided_disagreements(campaign).order_by("pk").values_list(*COLUMNS)
    disputed = [_Row._make(row) for row in rows[: WEIGHED_AT_ONCE + 1]]
    if len(disputed) > WEIGHED_AT_ONCE and (stored := _stored(campaign)):
        listed = [one.triplet for one in stored]
        found_now = undecided_disagreements(campaign).filter(pk__in=listed)
        still = set(found_now.values_list("pk", flat=True))
        return [one for one in stored if one.triplet in still]
    disputed = disputed[:WEIGHED_AT_ONCE]
    of_queries = campaign.triplets.filter(candidate__query__in={row.query for row in disputed})
    return _first(_weigh(disputed, _positives(of_queries)))


def _stored(campaign: Campaign) -> list[Disagreement]:
    figures = ReviewFigures.objects.filter(campaign=campaign)
    listed = figures.values_list(f"figures__{STORED}", flat=True).first()
    return [Disagreement(*one) for one in listed or []]


def _positives(triplets: QuerySet[Triplet]) -> dict[int, int]:
    """Query -> how many of its triplets are labelled positive; without those that have none."""
    rows = triplets.filter(label=1).order_by().values_list("candidate__query")
    return dict(rows.annotate(count=Count("pk")))


def _weigh(rows: Iterable[_Row], positives: dict[int, int]) -> Iterator[Disagreement]:
    for row in rows:
        others = positives.get(row.query, 0) - (row.label == 1)
        weight = disagreement_weight(
            votes=row.votes, positive=row.positive, rank=row.rank, decisive=not others
        )
        yield Disagreement(row.triplet, round(weight, 4), not others)


def _first(disagreements: Iterable[Disagreement]) -> list[Disagreement]:
    return nsmallest(MOST, disagreements, key=lambda one: (-one.weight, one.triplet))
