"""How the votes lie on the workers, and how each of them agrees with the others."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from annotation.protocol.labels.agreement import rounded
from annotation.protocol.labels.expert_agreement import DECIMALS
from exports.statistics.votes import Ints, Votes

BINS = 20
LEAST_VOTES = 10  # compared, of a worker in the histogram: fewer say nothing


def _none() -> Ints:
    return np.zeros(0, dtype=np.int64)


@dataclass
class WorkerTally:
    """By the worker's number: valid votes, those with a majority of others, those like it."""

    votes: Ints = field(default_factory=_none)
    compared: Ints = field(default_factory=_none)
    alike: Ints = field(default_factory=_none)

    def add(self, votes: Votes) -> None:
        others = votes.votes[votes.triplet] - 1
        yes = votes.yes[votes.triplet] - votes.value
        decided = 2 * yes != others
        alike = decided & ((2 * yes > others) == (votes.value == 1))
        self.votes = _added(self.votes, votes.worker)
        self.compared = _added(self.compared, votes.worker[decided])
        self.alike = _added(self.alike, votes.worker[alike])

    def figures(self) -> dict[str, object]:
        worked = self.votes[self.votes > 0]
        total = int(worked.sum())
        return {
            "workers": len(worked),
            "gini": gini(worked),
            "top_share": round(int(worked.max()) / total, DECIMALS) if total else None,
            "agreement_with_label": self._histogram(),
        }

    def _histogram(self) -> dict[str, object]:
        compared = _padded(self.compared, len(self.votes))
        enough = compared >= LEAST_VOTES
        compared, alike = compared[enough], _padded(self.alike, len(self.votes))[enough]
        # In whole numbers: no share may fall on the wrong side of an edge.
        bins = np.minimum(alike * BINS // np.maximum(compared, 1), BINS - 1)
        return {
            "edges": [round(edge / BINS, DECIMALS) for edge in range(BINS + 1)],
            "workers": np.bincount(bins, minlength=BINS).tolist(),
            "votes": _summed(bins, compared),
            "least_votes": LEAST_VOTES,
        }


def gini(votes: Ints) -> float | None:
    """0: all worked the same; near 1: one did it all. None without a worker."""
    if not len(votes):
        return None
    ordered = np.sort(votes)
    n = len(ordered)
    weights = 2 * np.arange(1, n + 1) - n - 1
    return rounded(int((weights * ordered).sum()) / (n * int(ordered.sum())))


def _summed(bins: Ints, numbers: Ints) -> list[int]:
    sums = np.zeros(BINS, dtype=np.int64)
    np.add.at(sums, bins, numbers)
    return sums.tolist()


def _added(counts: Ints, workers: Ints) -> Ints:
    more = np.bincount(workers, minlength=len(counts))
    return more + _padded(counts, len(more))


def _padded(counts: Ints, length: int) -> Ints:
    return np.pad(counts, (0, length - len(counts)))
