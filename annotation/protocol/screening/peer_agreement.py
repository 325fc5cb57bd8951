"""How far one worker's votes agree with those of all others on the same triplets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple


class Compared(NamedTuple):
    """Votes of one worker that stand against the same tally of others."""

    value: int
    peers: int  # valid votes of other workers on the triplet
    positive: int  # of these, those for 1
    times: int = 1  # how many such votes the worker gave


@dataclass(frozen=True)
class Agreement:
    agreeing: int
    compared: int

    @property
    def share(self) -> float | None:
        return self.agreeing / self.compared if self.compared else None


def beside_peers(
    value: int, votes: int, positive: int, *, times: int = 1, counts: bool
) -> Compared:
    """From a triplet's tally, which holds the vote itself where the vote counts."""
    return Compared(value, votes - counts, positive - counts * value, times)


def agrees(vote: Compared) -> bool | None:
    """Whether it is what the strict majority of the others says; None where they have none.

    The worker's own vote is left out: else it would agree with a majority that it made.
    """
    if 2 * vote.positive == vote.peers:
        return None
    return vote.value == int(2 * vote.positive > vote.peers)


def peer_agreement_of(votes: Iterable[Compared]) -> Agreement:
    compared = [(agrees(vote), vote.times) for vote in votes]
    return Agreement(
        agreeing=sum(count for same, count in compared if same),
        compared=sum(count for same, count in compared if same is not None),
    )
