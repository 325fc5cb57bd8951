"""The valid votes of a campaign, read from its judgments by the rule of `void_reason`."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from django.db.models import Count, F, Func, QuerySet, Sum, Window
from django.db.models.functions import Lead, RowNumber

from annotation.models import Assignment, Campaign, Judgment
from annotation.protocol.labels.agreement import Pairs
from annotation.protocol.labels.valid_votes import VoidReason

ROWS = 10_000
SUBMISSION = ("assignment__submitted_at", "assignment__crowd_id")


class Tally(NamedTuple):
    triplet: int
    votes: int
    positive: int


def valid_judgments(campaign: Campaign) -> QuerySet[Judgment]:
    """On triplets; `void_reason` says which count."""
    return Assignment.valid(_votes(campaign), campaign, "assignment__")


def compared_judgments(campaign: Campaign) -> QuerySet[Judgment]:
    """Also those that count but for their worker's exclusion."""
    but_for = VoidReason.EXCLUDED
    return Assignment.valid(_votes(campaign), campaign, "assignment__", but_for=but_for)


def _votes(campaign: Campaign) -> QuerySet[Judgment]:
    return Judgment.objects.filter(triplet__isnull=False, assignment__hit__campaign=campaign)


def tallies(campaign: Campaign) -> Iterator[Tally]:
    """By triplet, without those that have no votes: counted in the database."""
    rows = valid_judgments(campaign).order_by("triplet_id").values_list("triplet_id")
    counted = rows.annotate(votes=Count("pk"), positive=Sum("value"))
    return map(Tally._make, counted.iterator(chunk_size=ROWS))


def first_pairs(campaign: Campaign) -> Pairs:
    """The first two valid votes of each triplet that has them, counted by query."""
    judgments = valid_judgments(campaign).annotate(
        turn=_by_turns(RowNumber()), second=_by_turns(Lead("value"))
    )
    firsts = judgments.filter(turn=1, second__isnull=False).order_by()
    rows = firsts.values_list("triplet__candidate__query_id", "value", "second")
    counts: defaultdict[int, list[int]] = defaultdict(lambda: [0] * 4)
    for (query, first, second), triplets in Counter(rows.iterator(chunk_size=ROWS)).items():
        counts[query][2 * first + second] = triplets
    # In the same order whatever the database's: the bootstrap draws rows by their places.
    return np.array([counts[query] for query in sorted(counts)], dtype=np.int64).reshape(-1, 4)


def _by_turns(expression: Func) -> Window:
    """Over the votes of the same triplet, in order of submission."""
    order = [F(column) for column in SUBMISSION]
    return Window(expression, partition_by=F("triplet_id"), order_by=order)
