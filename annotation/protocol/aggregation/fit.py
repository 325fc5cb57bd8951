"""What follows from a table of votes and the experts' audit: a campaign states it, and whoever has
its files finds it again.

Chance deals the controls' votes: the controls and the answers to them have to come in the same
order, and after all others. No other order matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from annotation.protocol.aggregation.calibration import (
    Calibration,
    LogisticMap,
    by_agreement,
    calibrate,
)
from annotation.protocol.aggregation.choice import AGGREGATORS, Choice, choose
from annotation.protocol.aggregation.table import UNKNOWN, Floats, Ints, VoteTable, Weights


@dataclass(frozen=True)
class Fit:
    """`audit`: of each item that is not known, what experts say of it blindly and at random, or
    UNKNOWN; `log_odds`: of the same items."""

    table: VoteTable
    audit: Ints
    choice: Choice
    weights: Weights
    log_odds: Floats

    @cached_property
    def begin(self) -> LogisticMap:
        """What is known without experts; before a control says something, as good as nothing."""
        if not self.choice.losses:
            return self.choice.map
        return by_agreement(self.table, self.weights, self.choice.map)

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
        return {
            "aggregator": self.choice.name,
            "why": self.choice.why,
            "known": dict(self.choice.known),
            "offset": claimed_to_true.offset,
            "slope": claimed_to_true.slope,
            "sampled": calibration.sampled if calibration else None,
        }


def fit(table: VoteTable, audit: Ints, adjudicated: Ints) -> Fit:
    """`adjudicated`: what else experts say of the items that are not known, or UNKNOWN."""
    choice = choose(table, adjudicated=adjudicated)
    weights = AGGREGATORS[choice.name](table)
    return Fit(table, audit, choice, weights, weights.log_odds(table)[~table.is_known])
