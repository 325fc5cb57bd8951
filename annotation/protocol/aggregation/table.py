"""The long table that every aggregator reads: a row for each vote that counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
UNKNOWN = -1
SURE = 0.995  # nobody is surer than that: what is not seen in hundreds of rows may be
MOST_ODDS = float(logit(SURE))
DECIMALS = 6  # of log-odds: the order of sums moves the later ones


@dataclass(frozen=True)
class VoteTable:
    """Items and workers are numbered from 0; `known` has a place for each item, with its label
    where it is a control or experts have said it, and UNKNOWN elsewhere.

    Raises ValueError where the columns do not belong together.
    """

    item: Ints
    worker: Ints
    vote: Ints  # 0 or 1
    known: Ints
    workers: int  # how many there are, with those who have not voted yet

    def __post_init__(self) -> None:
        if not len(self.item) == len(self.worker) == len(self.vote):
            raise ValueError("the columns of votes differ in length")
        for name, column, end in (
            ("item", self.item, self.items),
            ("worker", self.worker, self.workers),
            ("vote", self.vote, 2),
        ):
            if len(column) and not 0 <= column.min() <= column.max() < end:
                raise ValueError(
                    f"{name}s are 0 to {end - 1}, not {column.min()} to {column.max()}"
                )

    @property
    def items(self) -> int:
        return len(self.known)

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """(items,)"""
        known: NDArray[np.bool_] = self.known != UNKNOWN
        return known

    def votes(self) -> Ints:
        """Of each item."""
        return np.bincount(self.item, minlength=self.items)

    def yes(self) -> Ints:
        """The votes for 1 of each item."""
        return np.bincount(self.item[self.vote == 1], minlength=self.items)


@dataclass(frozen=True)
class Weights:
    """What votes say: log-odds of label 1, which add up.

    `prior`: before any vote; `of`: (workers, 2), of each worker's vote for 0 and for 1.
    """

    prior: float
    of: Floats

    def of_votes(self, table: VoteTable) -> Floats:
        """Of each item, without the prior."""
        said = self.of[table.worker, table.vote]
        return np.bincount(table.item, said, minlength=table.items).astype(np.float64)

    def log_odds(self, table: VoteTable, prior: Floats | None = None) -> Floats:
        """Of each item by its votes: 0 where nothing decides, nan without a vote.

        `prior`: of each item its own.
        """
        odds = (self.prior if prior is None else prior) + self.of_votes(table)
        limited: Floats = odds.clip(-MOST_ODDS, MOST_ODDS).round(DECIMALS)
        return np.where(table.votes() > 0, limited, np.nan)

    def shares(self, table: VoteTable) -> Floats:
        """Between 0 and 1, and a known item's label."""
        given: Floats = expit(self.log_odds(table))
        return with_known(table, given)


Aggregator = Callable[[VoteTable], Weights]


def with_known(table: VoteTable, shares: Floats) -> Floats:
    """Known items have their labels."""
    return np.where(table.is_known, table.known.astype(float), shares)
