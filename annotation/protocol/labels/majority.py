"""From a triplet's valid votes to their majority, or to the votes still to be bought."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from annotation.protocol.policy.policy import Policy

LabelSource = Literal["majority", "expert", "import", "aggregator"]


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


def decide_tally(votes: int, positive: int, policy: Policy, cannot_judge: int = 0) -> Label:
    """The same from the number of valid votes and of those for 1: the order has no say.

    `cannot_judge`: how many said that they can't. Enough of them end the asking, and make no label.
    """
    negative = votes - positive
    if votes >= policy.annotators and positive != negative:
        return Label(int(positive > negative), "labelled", 0, "majority")
    if votes >= policy.max_votes or 0 < policy.cannot_judge_limit <= cannot_judge:
        return Label(None, "unresolved", 0)
    return Label(None, "open", votes_wanted(votes, policy))


def strict_majority(votes: int, positive: int) -> int | None:
    """Of however many votes."""
    return None if 2 * positive == votes else int(2 * positive > votes)


def votes_wanted(votes: int, policy: Policy) -> int:
    """Of a triplet that is open, whatever keeps it so."""
    return max(1, policy.annotators - votes)


def assignments_to_request(wanted: Iterable[int], outstanding: int) -> int:
    """Places to add to a HIT in extend mode: enough for its neediest triplet.

    `wanted` are the votes its triplets want, `outstanding` the assignments already open, being
    worked on or waiting for review.
    """
    return max(0, max(wanted, default=0) - max(0, outstanding))
