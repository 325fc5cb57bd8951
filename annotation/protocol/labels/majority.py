"""From a triplet's valid votes to their majority, or to the votes still to be bought."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from annotation.protocol.policy.policy import Policy

LabelSource = Literal["majority", "expert", "import"]


@dataclass(frozen=True)
class Label:
    value: int | None  # None unless labelled
    status: Literal["labelled", "open", "unresolved"]
    wanted: int  # votes to buy now
    source: LabelSource | None = None  # None unless labelled


def decide(votes: Sequence[int], policy: Policy) -> Label:
    """The strict majority of all valid votes, of which there must be `annotators`.

    Without a majority one more vote is wanted, up to `max_votes`; never a silent default.
    Raises ValueError at a vote other than 0 or 1.
    """
    if any(vote not in (0, 1) for vote in votes):
        raise ValueError(f"a vote is 0 or 1, not as in {list(votes)}")
    return decide_tally(len(votes), sum(votes), policy)


def decide_tally(votes: int, positive: int, policy: Policy) -> Label:
    """The same from the number of valid votes and of those for 1: the order has no say."""
    if votes < policy.annotators:
        return Label(None, "open", policy.annotators - votes)
    negative = votes - positive
    if positive != negative:
        return Label(int(positive > negative), "labelled", 0, "majority")
    if votes < policy.max_votes:  # a tie
        return Label(None, "open", 1)
    return Label(None, "unresolved", 0)


def assignments_to_request(wanted: Iterable[int], outstanding: int) -> int:
    """Places to add to a HIT in extend mode: enough for its neediest triplet.

    `wanted` are the votes its triplets want, `outstanding` the assignments already open, being
    worked on or waiting for review.
    """
    return max(0, max(wanted, default=0) - max(0, outstanding))
