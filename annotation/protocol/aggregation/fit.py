"""What follows from a table of votes and the experts' audit: a campaign states it, and whoever has
its files finds it again.

Chance deals the controls' votes: the controls and the answers to them have to come in the same
order, and after all others. No other order matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from annotation.protocol.aggregation.calibration import (
    LEAST_SLOPE,
    Calibration,
    LogisticMap,
    by_agreement,
    calibrate,
)
from annotation.protocol.aggregation.choice import AGGREGATORS, Choice, choose
from annotation.protocol.aggregation.rank_prior import RankPrior, fit_rank_prior
from annotation.protocol.aggregation.table import UNKNOWN, Floats, Ints, VoteTable, Weights


@dataclass(frozen=True)
class Fit:
    """`audit`: of each item that is not known, what experts say of it blindly and at random, or
    UNKNOWN; `ranks`: of the same items, where they have a say."""

    table: VoteTable
    audit: Ints
    choice: Choice
    weights: Weights
    ranks: Ints | None = None

    @cached_property
    def begin(self) -> LogisticMap:
        """What is known without experts; before a control says something, as good as nothing."""
        if not self.choice.losses:
            return self.choice.map
        return by_agreement(self.table, self.weights, self.choice.map)

    @cached_property
    def prior(self) -> RankPrior:
        """The same for each item until votes can be told from chance."""
        alike, to_chance = RankPrior(self.weights.prior), self.begin
        if self.ranks is None or not self.ranks.size or not self.choice.losses:
            return alike
        if to_chance.slope < LEAST_SLOPE:
            return alike
        said = to_chance.slope * self.weights.of_votes(self.table)[~self.table.is_known]
        before = to_chance.offset + to_chance.slope * alike.offset
        fitted = fit_rank_prior(said, self.ranks, before)
        if not fitted.slope:
            return alike
        # As the aggregator claims it, so that the map makes it what was fitted.
        return RankPrior(
            (fitted.offset - to_chance.offset) / to_chance.slope, fitted.slope / to_chance.slope
        )

    @property
    def prior_of_items(self) -> Floats:
        """Of all; controls have no rank."""
        given = np.full(self.table.items, self.weights.prior)
        if self.ranks is not None:
            given[~self.table.is_known] = self.prior(self.ranks)
        return given

    @cached_property
    def log_odds(self) -> Floats:
        """Of the items that are not known."""
        of_all = self.weights.log_odds(self.table, self.prior_of_items)
        return of_all[~self.table.is_known]

    @cached_property
    def by_audit(self) -> Calibration:
        sampled = self.audit != UNKNOWN
        return calibrate(self.log_odds[sampled], self.audit[sampled], self.begin)

    @property
    def calibration(self) -> Calibration | None:
        """None: too little is known for a chance to be shown."""
        return self.by_audit if self.by_audit.may_be_shown(self.log_odds) else None

    def facts(self) -> dict[str, Any]:
        """As a campaign keeps them, and its releases."""
        calibration, claimed_to_true = self.calibration, self.by_audit.map
        of_offset, of_slope, correlation = self.by_audit.errors_and_correlation
        return {
            "aggregator": self.choice.name,
            "why": self.choice.why,
            "known": dict(self.choice.known),
            "offset": claimed_to_true.offset,
            "slope": claimed_to_true.slope,
            "offset_error": of_offset,
            "slope_error": of_slope,
            "error_correlation": correlation,
            "sampled": calibration.sampled if calibration else None,
            **self._prior_facts(),
        }

    def _prior_facts(self) -> dict[str, float]:
        if self.ranks is None:
            return {}
        return {"prior": self.prior.offset, "rank_slope": self.prior.slope}


def fit(table: VoteTable, audit: Ints, adjudicated: Ints, ranks: Ints | None = None) -> Fit:
    """`adjudicated`: what else experts say of the items that are not known, or UNKNOWN.

    How much each worker's vote counts is by votes alone: who agrees with a retriever is no better
    for it, and controls have no rank.
    """
    choice = choose(table, adjudicated=adjudicated)
    return Fit(table, audit, choice, AGGREGATORS[choice.name](table), ranks)
