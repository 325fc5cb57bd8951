"""Fit the aggregator of a campaign to its votes, and keep what it claims of each triplet.

A fit chooses the aggregator and weighs every worker again; that is done each time a tenth more
work has been reviewed, and once nothing more is asked for. In between a vote counts as its worker
did at the last fit, so that new work costs what its own triplets cost.
"""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np

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
from annotation.pipeline.labelling.known_answers import blind_verdicts
from annotation.pipeline.labelling.vote_table import Votes, vote_table
from annotation.pipeline.labelling.votes import (
    CHOSEN_WITHOUT_LOOKING,
    valid_judgments,
)
from annotation.protocol.aggregation.calibration import (
    Calibration,
    LogisticMap,
    by_agreement,
    calibrate,
)
from annotation.protocol.aggregation.choice import AGGREGATORS, Choice, choose
from annotation.protocol.aggregation.table import DECIMALS, MOST_ODDS, Floats, Ints, Weights
from core.files.bulk_insert import insert

GROWTH = 1.1  # so much more reviewed work than at the last fit calls for another


@dataclass(frozen=True)
class Fit:
    """`log_odds`: of each triplet; `sampled`: those with blind labels of experts, the `labels`."""

    votes: Votes
    choice: Choice
    weights: Weights
    log_odds: Floats
    sampled: Ints
    labels: Ints

    @cached_property
    def begin(self) -> LogisticMap:
        """What is known without experts; before a control says something, as good as nothing."""
        if not self.choice.losses:
            return self.choice.map
        return by_agreement(self.votes.table, self.weights, self.choice.map)

    @cached_property
    def by_audit(self) -> Calibration:
        return calibrate(self.log_odds[self.sampled], self.labels, self.begin)

    @property
    def calibration(self) -> Calibration | None:
        """None: too little is known for a chance to be shown."""
        return self.by_audit if self.by_audit.may_be_shown(self.log_odds) else None


def fit(campaign: Campaign) -> Fit:
    """Read-only."""
    votes = vote_table(campaign)
    choice = choose(votes.table)
    weights = AGGREGATORS[choice.name](votes.table)
    log_odds = weights.log_odds(votes.table)[: len(votes.triplets)]
    said = {one: int(yes > no) for one, (yes, no) in blind_verdicts(campaign).items() if yes != no}
    keys = votes.triplets.tolist()
    sampled = np.array([place for place, key in enumerate(keys) if key in said], np.int64)
    labels = np.array([said[keys[place]] for place in sampled.tolist()], np.int64)
    return Fit(votes, choice, weights, log_odds, sampled, labels)


def is_fit_due(campaign: Campaign) -> bool:
    stored = _stored(campaign)
    return stored is None or _reviewed(campaign) > GROWTH * stored.seen[0]


def is_fitted(campaign: Campaign) -> bool:
    """Whether the last fit has seen all there is."""
    stored = _stored(campaign)
    return stored is not None and stored.seen == _seen(campaign)


def store_fit(campaign: Campaign) -> None:
    """With the campaign locked."""
    made = fit(campaign)
    calibration, claimed_to_true = made.calibration, made.by_audit.map
    keys = [*map(str, made.votes.workers.tolist()), NEW_WORKER]
    Aggregation.objects.update_or_create(
        campaign=campaign,
        defaults={
            "aggregator": made.choice.name,
            "why": made.choice.why,
            "prior": made.weights.prior,
            "weights": dict(zip(keys, made.weights.of.tolist(), strict=True)),
            "offset": claimed_to_true.offset,
            "slope": claimed_to_true.slope,
            "sampled": calibration.sampled if calibration else None,
            "seen": _seen(campaign),
        },
    )
    Posterior.objects.filter(triplet__campaign=campaign).delete()
    rows = zip(made.votes.triplets.tolist(), made.log_odds.tolist(), strict=True)
    insert(Posterior, ["triplet_id", "log_odds"], rows)


def update_claims(campaign: Campaign, triplets: Collection[int]) -> None:
    """Of these triplets, by the last fit; with the campaign locked."""
    stored = Aggregation.objects.get(campaign=campaign)
    for some in in_parts(sorted(triplets)):
        log_odds: defaultdict[int, float] = defaultdict(lambda: stored.prior)
        rows = valid_judgments(campaign).filter(triplet__in=some).order_by("pk")
        for triplet, worker, value in rows.values_list("triplet_id", "worker_id", "value"):
            log_odds[triplet] += stored.weights_of(worker)[value]
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
    """Of work, of votes that count, of excluded workers, of blind labels."""
    labels = ExpertLabel.objects.filter(triplet__campaign=campaign)
    return [
        _reviewed(campaign),
        valid_judgments(campaign).count(),
        Exclusion.in_force(campaign).count(),
        labels.filter(source__in=CHOSEN_WITHOUT_LOOKING).count(),
    ]
