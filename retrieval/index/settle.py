"""From what an index finds to a ranking: scores recomputed from the store, exactly k a query.

Scores are rounded to 6 decimals: summing in another order or on another machine must not change a
rank. Equal scores stand in the order of the pair keys, so a ranking depends on the pairs and their
vectors alone, not on shards, index or batch.
"""

import numpy as np
from numpy.typing import NDArray

from retrieval.index.port import VectorIndex
from retrieval.store.store import VectorStore
from retrieval.vectors import Mask, Positions, Vectors

DECIMALS = 6
# What float32 sums of an exact index may be off by.
MARGIN = 1e-4
QUERIES_PER_CALL = 1024
RESULTS_PER_CALL = 20_000_000

Scores = NDArray[np.float64]


def nearest(
    index: VectorIndex, store: VectorStore, queries: Vectors, k: int, excluded: Mask
) -> tuple[Positions, Scores]:
    """The k nearest allowed rows of each query, both queries x k.

    At least k rows must be allowed.
    """
    positions = np.empty((len(queries), k), np.int64)
    scores = np.empty((len(queries), k), np.float64)
    pending = np.arange(len(queries))
    width = min(len(store), 2 * k + 10)
    while pending.size:
        size = max(1, min(QUERIES_PER_CALL, RESULTS_PER_CALL // width))
        unsettled = []
        for start in range(0, pending.size, size):
            part = pending[start : start + size]
            found = index.search(queries[part], width, excluded)
            for row, at, near in zip(part, found.positions, found.scores, strict=True):
                at = at[at >= 0]
                exact = rescored(store, queries[row], at)
                best = np.lexsort((store.keys[at], -exact))[:k]
                # A row that was not fetched scores at most as the last one that was.
                if width == len(store) or (
                    len(best) == k and (not index.exact or exact[best[-1]] > near[-1] + MARGIN)
                ):
                    positions[row], scores[row] = at[best], exact[best]
                else:
                    unsettled.append(row)
        pending = np.array(unsettled, np.int64)
        width = min(len(store), width * 4)
    return positions, scores


def rescored(store: VectorStore, query: Vectors, positions: Positions) -> Scores:
    products = store.rows(positions).astype(np.float64) @ query.astype(np.float64)
    return np.clip(np.round(products, DECIMALS), -1.0, 1.0)
