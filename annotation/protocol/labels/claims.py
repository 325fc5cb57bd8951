"""How an aggregator's claims are read: as a label, as the confidence in it, as a chance."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

from annotation.protocol.policy.policy import Policy

# Votes that count alike, or as their worker does; or models with one chance for each worker to be
# right, with two, or half of both.
MAJORITY = "majority"
NAMES = (
    MAJORITY,
    "weighted majority",
    "one coin",
    "half and half",
    "two coins",
)


@dataclass(frozen=True)
class Claims:
    """`offset` and `slope` map log-odds to chances. `sampled`: the experts' labels that they were
    fitted to; None: too few for a chance to be shown, and the map is mostly that of controls."""

    aggregator: str
    offset: float
    slope: float
    sampled: int | None
    rank_slope: float = 0.0  # of the prior; 0: votes alone decide

    @property
    def is_majority(self) -> bool:
        """Whether labels are majorities, of votes that count alike."""
        return self.aggregator == MAJORITY and not self.rank_slope

    def said(self, log_odds: float | None) -> int | None:
        """The label; None: nothing decides, or the majority does."""
        if self.is_majority or not log_odds:
            return None
        return int(log_odds > 0)

    def is_sure(self, log_odds: float | None, policy: Policy) -> bool:
        if log_odds is None or not policy.is_adaptive:
            return False
        return self.confidence(log_odds) >= policy.wanted_confidence

    def confidence(self, log_odds: float) -> float:
        """In the label that it has, even where the map thinks more of the other one."""
        if not log_odds:  # it has none
            return 0.5
        chance = self._chance(log_odds)
        return chance if log_odds > 0 else 1 - chance

    def shown(self, log_odds: float | None) -> float | None:
        """The chance of label 1, where it may be shown."""
        if log_odds is None or self.sampled is None:
            return None
        return round(self._chance(log_odds), 4)

    def _chance(self, log_odds: float) -> float:
        return 1 / (1 + exp(-(self.offset + self.slope * log_odds)))


def asking_in_words(policy: Policy) -> str:
    """What ends the asking, where no majority does; else nothing."""
    if not policy.is_adaptive:
        return ""
    least = policy.annotators
    first = {
        "least_sure": "the least sure come first",
        "top_ranks": "each query's only positive and top ranks come first",
    }[policy.bought_first]
    return (
        f"Each triplet gets {least} to {policy.max_votes} votes, until its label is "
        f"{policy.wanted_confidence:.0%} sure; {first}."
    )


def no_chance_in_words(policy: Policy, claims: Claims) -> str:
    """Why no label has its chance beside it; nothing where each has."""
    if policy.aggregation == "majority":
        return "No label has a probability beside it: labels are majorities, which claim none."
    if claims.sampled is None:
        return (
            "No label has a probability beside it: experts have judged too few at random to know "
            "how often claims come true. It takes 150 at least, and more where many are wrong."
        )
    return ""


NO_CLAIMS = Claims(MAJORITY, 0.0, 1.0, None)
