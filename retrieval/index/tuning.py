"""How hard an approximate index must look: measured when it is built."""

from collections.abc import Callable, Sequence

import numpy as np

from retrieval.index.port import VectorIndex
from retrieval.index.recall import as_new, cutoffs, recall_per_query
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Positions

SEED = 1
# The recall that is built for where none is given, and the sample of rows that it is measured on.
RECALL = 0.99
AT = 30
TUNED_ON = 500
# Of the mean's error: with 95 % the recall of all is no lower.
SURE = 1.645


def tune(
    index: VectorIndex,
    store: VectorStore,
    *,
    values: Sequence[int],
    take: Callable[[int], None],
    wanted: float,
) -> int:
    """With which it finds what was wanted of vectors like its rows, but new to it; or the most.

    `values` rise; `take` makes the index search with one of them, and at the end with this one.
    """
    if not len(store):
        take(values[-1])
        return values[-1]
    rows, at = sample(store, TUNED_ON), min(AT, len(store))
    queries = as_new(store, store.rows(rows), rows)
    nobody, nothing = np.full(len(rows), -1), np.zeros(len(store), np.bool_)
    last = cutoffs(store, queries, nobody, nothing, at)
    for value in values:
        take(value)
        shares = recall_per_query(index, store, queries, nobody, nothing, last, at)
        if shares.mean() - SURE * shares.std() / len(shares) ** 0.5 >= wanted:
            break
    return value


def sample(store: VectorStore, most: int) -> Positions:
    size = min(most, len(store))
    return np.sort(np.random.default_rng(SEED).choice(len(store), size, replace=False))
