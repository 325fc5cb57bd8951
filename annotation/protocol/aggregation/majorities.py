"""Votes that count the same, and votes that count as their worker does."""

from __future__ import annotations

import numpy as np

from annotation.protocol.aggregation.table import VoteTable, Weights

EACH_WAY = np.array([-1.0, 1.0])


def majority(table: VoteTable) -> Weights:
    """Two more for than against say as much of five votes as of two."""
    return Weights(0.0, np.tile(EACH_WAY, (table.workers, 1)))


def weighted_majority(table: VoteTable) -> Weights:
    """Each vote counts as often as its worker says what is known or what the majority says."""
    labels = majority(table).shares(table)[table.item]
    judged = labels != 0.5
    agrees = judged & ((labels > 0.5) == (table.vote == 1))
    agreed, of = (
        np.bincount(table.worker[rows], minlength=table.workers) for rows in (agrees, judged)
    )
    return Weights(0.0, np.outer((agreed + 0.5) / (of + 1), EACH_WAY))
