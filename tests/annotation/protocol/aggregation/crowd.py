"""Crowds whose workers' chances are known, for what aggregators make of their votes."""

from collections.abc import Sequence

import numpy as np

from annotation.protocol.aggregation.table import UNKNOWN, Floats, Ints, VoteTable


def crowd(
    rates: Sequence[tuple[float, float]],
    *,
    on_controls: Sequence[tuple[float, float]] | None = None,
    items: int,
    votes: int,
    controls: int = 0,
    answers: int = 0,
    ones: float = 0.5,
    seed: int = 1,
) -> tuple[VoteTable, Ints]:
    """And the labels of all items, the `controls` last.

    `rates`: of each worker the chance of a right vote on an item of label 0, and on one of 1.
    `on_controls`: the same on controls; None: they are as hard. `answers`: of each worker, to
    controls.
    """
    random = np.random.default_rng(seed)
    labels = np.concatenate([random.random(items) < ones, np.arange(controls) % 2]).astype(int)
    item = np.repeat(np.arange(items), votes)
    worker = np.concatenate([random.permutation(len(rates))[:votes] for _ in range(items)])
    if controls:
        asked = np.repeat(np.arange(len(rates)), answers)
        item = np.concatenate([item, items + random.integers(0, controls, len(asked))])
        worker = np.concatenate([worker, asked])
    chances = np.asarray([rates, on_controls or rates])
    right = random.random(len(item)) < chances[(item >= items).astype(int), worker, labels[item]]
    known = np.where(np.arange(len(labels)) < items, UNKNOWN, labels)
    vote = np.where(right, labels[item], 1 - labels[item])
    return VoteTable(item, worker, vote, known, len(rates)), labels


def table(votes: Sequence[tuple[int, int, int]], known: Sequence[int]) -> VoteTable:
    """`votes`: (item, worker, vote)."""
    item, worker, vote = np.array(votes, int).reshape(-1, 3).T
    return VoteTable(item, worker, vote, np.array(known, int), int(worker.max(initial=-1)) + 1)


def accuracy(shares: Floats, labels: Ints, items: int) -> float:
    """Of the first `items`; a tie is half right."""
    given = shares[:items]
    return float(np.where(given == 0.5, 0.5, (given > 0.5) == labels[:items]).mean())
