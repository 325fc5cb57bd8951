"""Fit the aggregator of a campaign to its votes, and keep what it claims of each triplet.

A fit chooses the aggregator and weighs every worker again; that is done each time a tenth more
work has been reviewed, and once nothing more is asked for. In between a vote counts as its worker
did at the last fit, so that new work costs what its own triplets cost.
"""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Count, F, QuerySet, Sum
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Coalesce

from annotation.models import (
    Aggregation,
    Assignment,
    Campaign,
    Exclusion,
    ExpertLabel,
    Posterior,
)
from annotation.models.aggregation import NEW_WORKER
from annotation.pipeline.changes import in_parts
from annotation.pipeline.labelling.known_answers import (
    blind_labels,
    choosing_labels,
    majorities,
    verdicts,
)
from annotation.pipeline.labelling.vote_table import Votes, vote_table
from annotation.pipeline.labelling.votes import valid_judgments
from annotation.protocol.aggregation.fit import Fit, fit
from annotation.protocol.aggregation.table import DECIMALS, MOST_ODDS, UNKNOWN, Ints
from core.files.bulk_insert import insert

PK = F("pk")
GROWTH = 1.1  # so much more reviewed work than at the last fit calls for another


class Fitted(NamedTuple):
    votes: Votes
    fit: Fit


def fitted(campaign: Campaign) -> Fitted:
    """Read-only."""
    votes = vote_table(campaign)
    audit, others = _said(blind_labels(campaign), votes), _said(choosing_labels(campaign), votes)
    return Fitted(votes, fit(votes.table, audit, others, votes.ranks))


def _said(labels: QuerySet[ExpertLabel], votes: Votes) -> Ints:
    """By the experts of each triplet that has votes, or UNKNOWN."""
    said = majorities(verdicts(labels))
    return np.array([said.get(key, UNKNOWN) for key in votes.triplets.tolist()], np.int64)


def is_fit_due(campaign: Campaign) -> bool:
    stored = _stored(campaign)
    return stored is None or _reviewed(campaign) > GROWTH * stored.seen[0]


def is_fitted(campaign: Campaign) -> bool:
    """Whether the last fit has seen all there is, and tells all that one tells now."""
    stored = _stored(campaign)
    if stored is None or stored.offset_error is None:
        return False
    return bool(stored.seen == _seen(campaign))


def store_fit(campaign: Campaign) -> None:
    """With the campaign locked."""
    votes, made = fitted(campaign)
    keys = [*map(str, votes.workers.tolist()), NEW_WORKER]
    Aggregation.objects.update_or_create(
        campaign=campaign,
        defaults={
            "prior": made.weights.prior,
            "rank_slope": 0.0,
            **made.facts(),
            "weights": dict(zip(keys, made.weights.of.tolist(), strict=True)),
            "seen": _seen(campaign),
        },
    )
    Posterior.objects.filter(triplet__campaign=campaign).delete()
    rows = zip(votes.triplets.tolist(), made.log_odds.tolist(), strict=True)
    insert(Posterior, ["triplet_id", "log_odds"], rows)


def update_claims(campaign: Campaign, triplets: Collection[int]) -> None:
    """Of these triplets, by the last fit; with the campaign locked."""
    stored = Aggregation.objects.get(campaign=campaign)
    for some in in_parts(sorted(triplets)):
        log_odds: dict[int, float] = {}
        rows = valid_judgments(campaign).filter(triplet__in=some).order_by("pk")
        columns = "triplet_id", "triplet__candidate__rank", "worker_id", "value"
        for triplet, rank, worker, value in rows.values_list(*columns):
            before = log_odds.get(triplet, stored.prior_of(rank))
            log_odds[triplet] = before + stored.weights_of(worker)[value]
        Posterior.objects.filter(triplet__in=some).delete()
        limited = {
            triplet: round(min(max(odds, -MOST_ODDS), MOST_ODDS), DECIMALS)
            for triplet, odds in log_odds.items()
        }
        insert(Posterior, ["triplet_id", "log_odds"], limited.items())


def _stored(campaign: Campaign) -> Aggregation | None:
    return Aggregation.objects.filter(campaign=campaign).first()


def _reviewed(campaign: Campaign) -> int:
    return Assignment.objects.filter(hit__campaign=campaign, passed__isnull=False).count()


def _seen(campaign: Campaign) -> list[int]:
    """Of work, of votes that count, of excluded workers, of what experts say."""
    said = F("pk") * (1 + Coalesce("blind_label", "label"))
    return [
        _reviewed(campaign),
        *_which(valid_judgments(campaign)),
        *_which(Exclusion.in_force(campaign)),
        *_which(blind_labels(campaign), said),
        *_which(choosing_labels(campaign), said),
    ]


def _which(rows: QuerySet[Any], number: F | CombinedExpression = PK) -> Iterator[int]:
    """As many others are not the same."""
    counted = rows.order_by().aggregate(rows=Count("pk"), sum=Sum(number, default=0))
    return map(int, counted.values())
