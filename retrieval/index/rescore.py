"""From what an index finds to a ranking: scores recomputed from the store, exactly k a query.

Scores are rounded to 6 decimals: summing in another order or on another machine must not change a
rank. Equal scores stand in the order of the pair keys, so a ranking depends on the pairs and their
vectors alone, not on shards, index or batch.
"""

import numpy as np
from numpy.typing import NDArray

from core.errors import UserError
from retrieval.index.exact.exact import ExactIndex
from retrieval.index.port import VectorIndex
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, Positions, Vectors

DECIMALS = 6
RESULTS_PER_CALL = 5_000_000
RESCORED_BYTES = 2**26

Scores = NDArray[np.float64]


def nearest(
    index: VectorIndex, store: VectorStore, queries: Vectors, k: int, excluded: Mask
) -> tuple[Positions, Scores]:
    """The k nearest allowed rows of each query, both queries x k.

    `excluded` names the rows removed from the index too. Raises UserError where fewer than k are
    allowed.
    """
    _require_enough(len(store) - int(np.count_nonzero(excluded)), k)
    positions = np.empty((len(queries), k), np.int64)
    scores = np.empty((len(queries), k), np.float64)
    pending = np.arange(len(queries))
    width = min(len(store), 2 * k + 10)
    while pending.size:
        unsettled = []
        step = max(1, RESULTS_PER_CALL // width)
        for start in range(0, len(pending), step):
            part = pending[start : start + step]
            at, near, settled = _ranked(index, store, queries[part], k, width, excluded)
            positions[part[settled]], scores[part[settled]] = at[settled], near[settled]
            unsettled.append(part[~settled])
        pending = np.concatenate(unsettled)
        if index.exact:
            width = min(len(store), width * 4)
        elif pending.size:  # made wider and wider, it would look at every row, and slowly
            index = ExactIndex(store)
    return positions, scores


def _require_enough(allowed: int, k: int) -> None:
    if allowed < k:
        raise UserError(
            f"Only {allowed:,} pairs can be found of the {k:,} asked for: ask for fewer, or add "
            "pairs by `quorum corpus import`."
        )


def _ranked(
    index: VectorIndex, store: VectorStore, queries: Vectors, k: int, width: int, excluded: Mask
) -> tuple[Positions, Scores, Mask]:
    """The k best of those found, and whether they are the k best of all."""
    near = index.search(queries, width, excluded)
    scores = rescored(store, queries, near.positions)
    keys = store.keys[np.maximum(near.positions, 0)]
    best = np.lexsort((keys, -scores), axis=1)[:, :k]
    each = np.arange(len(queries))[:, None]
    positions, scores = near.positions[each, best], scores[each, best]
    if not index.exact:
        return positions, scores, positions[:, -1] >= 0
    # A row that was not found scores at most as much, and so much counts as equal.
    bound = near.scores[:, -1] + near.margin + 10.0**-DECIMALS
    all_found = (near.positions[:, -1] < 0) | (width == len(store))
    return positions, scores, all_found | (scores[:, -1] > np.maximum(bound, -1.0))


def rescored(store: VectorStore, queries: Vectors, positions: Positions) -> Scores:
    """Of the rows found for each query, queries x width; -inf where there is none."""
    count, width = positions.shape
    scores = np.empty((count, width), np.float64)
    step = max(1, RESCORED_BYTES // max(1, 8 * width * queries.shape[1]))
    for start in range(0, count, step):
        some = slice(start, start + step)
        # All at once, so that the store reads its files in one direction.
        rows = store.rows(np.maximum(positions[some], 0).ravel()).astype(np.float64)
        asked = queries[some, None, :].astype(np.float64)
        scores[some] = np.vecdot(rows.reshape(len(asked), width, -1), asked)
    return np.where(positions < 0, -np.inf, rounded_cosines(scores))


def rounded_cosines(cosines: Scores) -> Scores:
    """As a search tells them."""
    return np.clip(np.round(cosines, DECIMALS), -1.0, 1.0)
