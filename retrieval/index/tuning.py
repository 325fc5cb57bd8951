"""How hard an approximate index must look: measured on rows of its own when it is built."""

from collections.abc import Callable, Sequence

import numpy as np

from retrieval.index.port import VectorIndex
from retrieval.index.recall import cutoffs, recall_per_query
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Positions

SEED = 1
# The recall that is built for where none is given, and the sample of rows that it is measured on.
RECALL = 0.99
AT = 30
TUNED_ON = 300
# Of the way from the recall wanted to a perfect one: the rows are not the questions to come.
HEADROOM = 0.3


def tune(
    index: VectorIndex,
    store: VectorStore,
    *,
    values: Sequence[int],
    take: Callable[[int], None],
    wanted: float,
) -> int:
    """With which a sample of the rows, itself left out, finds what was wanted; or the most.

    `values` rise; `take` makes the index search with one of them, and at the end with this one.
    """
    own = sample(store, min(TUNED_ON, len(store) // 2))
    if not len(own):
        take(values[-1])
        return values[-1]
    excluded = np.zeros(len(store), np.bool_)
    excluded[own] = True
    queries, at = store.rows(own), min(AT, len(store) - len(own))
    last = cutoffs(store, queries, own, excluded, at)
    for value in values:
        take(value)
        recall = recall_per_query(index, store, queries, own, excluded, last, at).mean()
        if recall >= wanted + HEADROOM * (1 - wanted):
            break
    return value


def sample(store: VectorStore, most: int) -> Positions:
    size = min(most, len(store))
    return np.sort(np.random.default_rng(SEED).choice(len(store), size, replace=False))
