"""How far each two workers agree on the triplets that both judged."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from django.db.models import QuerySet, Sum

from annotation.models import Campaign, PairTally, Worker
from annotation.pipeline.labelling.tallies import tallies_of
from annotation.protocol.labels.agreement import agreement, kappa, rounded

MOST = 50  # pairs that are kept: 300 workers make 44,850


@dataclass(frozen=True)
class WorkerPair:
    first: str  # worker ids
    second: str
    shared: int  # triplets with a valid vote of both
    agreement: float | None
    kappa: float | None


def worker_pairs(campaign: Campaign) -> tuple[list[WorkerPair], int]:
    """Those that share most triplets, and how many pairs share any."""
    counts = sorted(map(_Counts._make, _counts(campaign)), key=_most_first)
    most = counts[:MOST]
    names = Worker.objects.in_bulk({pk for one in most for pk in (one.first, one.second)})
    return [_pair(one, names) for one in most], len(counts)


class _Counts(NamedTuple):
    first: int
    second: int
    shared: int
    yes: int  # of the first
    other_yes: int
    both_yes: int


def _most_first(counts: _Counts) -> tuple[int, int, int]:
    return -counts.shared, counts.first, counts.second


def _counts(campaign: Campaign) -> QuerySet[PairTally, tuple[int, ...]]:
    """A row a pair. Of the workers' keys alone: names in a group of many rows take long."""
    rows = tallies_of(campaign, PairTally).order_by().values_list("first_id", "second_id")
    return rows.annotate(
        *(Sum(column) for column in ("shared", "yes", "other_yes", "both_yes")),
    )


def _pair(pair: _Counts, names: Mapping[int, Worker]) -> WorkerPair:
    neither = pair.shared - pair.yes - pair.other_yes + pair.both_yes
    alone = pair.other_yes - pair.both_yes, pair.yes - pair.both_yes
    counts = np.array([[neither, *alone, pair.both_yes]])
    chance = rounded(kappa(counts.astype(np.float64))[0])
    first, second = (names[pk].worker_id for pk in (pair.first, pair.second))
    return WorkerPair(first, second, pair.shared, agreement(counts), chance)
