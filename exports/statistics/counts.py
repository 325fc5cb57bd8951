"""A row of figures for each split, in the shape of the paper's table 2. Pure.

Deviations are those of the whole population (divided by n, not by n - 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import sqrt

from annotation.protocol.labels.expert_agreement import DECIMALS


@dataclass
class Sums:
    """Of whole numbers, one after the other: their mean and deviation, exactly."""

    n: int = 0
    total: int = 0
    squares: int = 0

    def add(self, number: int) -> None:
        self.n += 1
        self.total += number
        self.squares += number * number

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.n + other.n, self.total + other.total, self.squares + other.squares)

    def spread(self) -> dict[str, float | None]:
        if not self.n:
            return {"mean": None, "std": None}
        variance = Fraction(self.n * self.squares - self.total**2, self.n**2)
        return {
            "mean": round(self.total / self.n, DECIMALS),
            "std": round(sqrt(variance), DECIMALS),
        }


@dataclass
class SplitCounts:
    """What the queries of a split hold."""

    candidates: Sums = field(default_factory=Sums)
    positives: Sums = field(default_factory=Sums)
    negatives: Sums = field(default_factory=Sums)
    answerable: int = 0
    votes: int = 0

    def add(self, *, positives: int, negatives: int, votes: int) -> None:
        """One query."""
        self.candidates.add(positives + negatives)
        self.positives.add(positives)
        self.negatives.add(negatives)
        self.answerable += positives > 0
        self.votes += votes

    def __add__(self, other: SplitCounts) -> SplitCounts:
        return SplitCounts(
            self.candidates + other.candidates,
            self.positives + other.positives,
            self.negatives + other.negatives,
            self.answerable + other.answerable,
            self.votes + other.votes,
        )

    def row(self) -> dict[str, object]:
        queries, triplets = self.candidates.n, self.candidates.total
        return {
            "queries": queries,
            "triplets": triplets,
            "positives": self.positives.total,
            "negatives": self.negatives.total,
            "candidates_per_query": self.candidates.spread(),
            "positives_per_query": self.positives.spread(),
            "negatives_per_query": self.negatives.spread(),
            "answerable_queries": self.answerable,
            "answerable_share": share(self.answerable, queries),
            "votes": self.votes,
            "votes_per_triplet": share(self.votes, triplets),
        }


def split_rows(splits: Mapping[str, SplitCounts]) -> dict[str, dict[str, object]]:
    """A row for each split, and one for all of them."""
    everything = sum(splits.values(), start=SplitCounts())
    return {name: counts.row() for name, counts in [*splits.items(), ("all", everything)]}


def share(part: int, whole: int) -> float | None:
    return round(part / whole, DECIMALS) if whole else None
