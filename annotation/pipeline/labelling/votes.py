"""What labels follow from: valid votes, read by the rule of `void_reason`, and adjudications."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Count, F, Func, QuerySet, Sum, Window
from django.db.models.functions import Lead, RowNumber

from annotation.models import Assignment, Campaign, ExpertLabel, ItemReport, Judgment
from annotation.protocol.labels.agreement import Pairs
from annotation.protocol.labels.valid_votes import VoidReason

ROWS = 10_000
# Adjudicated triplets were chosen for being hard, or were reported: how often the crowd errs on
# them says nothing of the others.
CHOSEN_WITHOUT_LOOKING = (ExpertLabel.Source.IMPORT, ExpertLabel.Source.SAMPLE)
SUBMISSION = ("assignment__submitted_at", "assignment__crowd_id")


class Tally(NamedTuple):
    triplet: int
    votes: int
    positive: int


def valid_judgments(*campaigns: Campaign) -> QuerySet[Judgment]:
    """On triplets; `void_reason` says which count."""
    return Assignment.valid(_votes(*campaigns), *campaigns, path="assignment__")


def compared_judgments(campaign: Campaign) -> QuerySet[Judgment]:
    """Also those that count but for their worker's exclusion."""
    but_for = VoidReason.EXCLUDED
    return Assignment.valid(_votes(campaign), campaign, path="assignment__", but_for=but_for)


def _votes(*campaigns: Campaign) -> QuerySet[Judgment]:
    return Judgment.objects.filter(triplet__isnull=False, assignment__hit__campaign__in=campaigns)


def tallies(campaign: Campaign, only: Collection[int] | None = None) -> Iterator[Tally]:
    """By triplet, without those that have no votes: counted in the database."""
    votes = valid_judgments(campaign)
    votes = votes if only is None else votes.filter(triplet__in=only)
    rows = votes.order_by("triplet_id").values_list("triplet_id")
    counted = rows.annotate(votes=Count("pk"), positive=Sum("value"))
    return map(Tally._make, counted.iterator(chunk_size=ROWS))


class Experts(NamedTuple):
    """How many of those who adjudicated a triplet say what of it."""

    yes: int
    no: int


NO_EXPERTS = Experts(0, 0)


def deciding_experts(campaign: Campaign, only: Collection[int] | None = None) -> dict[int, Experts]:
    """By triplet, those that have any: few, however large the campaign is."""
    if campaign.policy.adjudication != "decide":
        return {}
    given = ExpertLabel.objects.filter(triplet__campaign=campaign, adjudicated=True).order_by()
    given = given if only is None else given.filter(triplet__in=only)
    rows = given.values_list("triplet").annotate(experts=Count("pk"), yes=Sum("label"))
    return {triplet: Experts(yes, experts - yes) for triplet, experts, yes in rows}


def cannot_judge(*campaigns: Campaign) -> QuerySet[ItemReport]:
    """Valid work that says of a triplet that its worker can't judge it."""
    said = ItemReport.objects.filter(
        cannot_judge=True, item__triplet__isnull=False, assignment__hit__campaign__in=campaigns
    )
    return Assignment.valid(said, *campaigns, path="assignment__")


def cannot_judge_counts(campaign: Campaign, only: Collection[int] | None = None) -> dict[int, int]:
    """By triplet, those of which somebody says so: few."""
    if not campaign.policy.cannot_judge_limit:
        return {}
    said = cannot_judge(campaign).order_by()
    said = said if only is None else said.filter(item__triplet__in=only)
    rows = said.values_list("item__triplet").annotate(count=Count("pk"))
    return {triplet: count for triplet, count in rows if triplet is not None}


def first_pairs(campaign: Campaign) -> Pairs:
    """The first two valid votes of each triplet that has them, counted by query."""
    rows = first_votes(campaign).values_list("triplet__candidate__query_id", "pair")
    return pairs_of(Counter(rows.iterator(chunk_size=ROWS)))


def first_votes(campaign: Campaign, only: Collection[int] | None = None) -> QuerySet[Any]:
    """The first of them, each with `pair`: twice its value and that of the second one."""
    judgments = valid_judgments(campaign)
    judgments = judgments if only is None else judgments.filter(triplet__in=only)
    pair = F("value") * 2 + _by_turns(Lead("value"))
    judgments = judgments.annotate(turn=_by_turns(RowNumber()), pair=pair)
    return judgments.filter(turn=1, pair__isnull=False).order_by()


def pairs_of(triplets: Mapping[tuple[int, int], int]) -> Pairs:
    """From how many there are of each query and pair of votes."""
    counts: defaultdict[int, list[int]] = defaultdict(lambda: [0] * 4)
    for (query, pair), count in triplets.items():
        counts[query][pair] = count
    # In the same order whatever the database's: the bootstrap draws rows by their places.
    return np.array([counts[query] for query in sorted(counts)], dtype=np.int64).reshape(-1, 4)


def _by_turns(expression: Func) -> Window:
    """Over the votes of the same triplet, in order of submission."""
    order = [F(column) for column in SUBMISSION]
    return Window(expression, partition_by=F("triplet_id"), order_by=order)
