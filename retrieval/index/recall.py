"""The share of the exact nearest that an index finds."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from retrieval.index.exact.exact import ExactIndex
from retrieval.index.port import VectorIndex
from retrieval.index.rescore import Scores, nearest, rescored
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, Positions, Vectors

DEVIATIONS = 1.96
NEAR = 31  # rows among which a row's nearest other vector is looked for


@dataclass(frozen=True)
class Recall:
    """Recall@`at`, the mean over a sample of queries, and the lower end of its 95 % interval."""

    at: int
    sample: int
    value: float
    low: float


def as_new(store: VectorStore, vectors: Vectors, own: Positions) -> Vectors:
    """The vectors, each moved by a step between two rows near its own.

    A graph leads a vector that is in it straight to its nearest, and one that is not less often. Of
    the moved ones it finds as much as of new ones of their kind, or somewhat less; somewhat more
    where rows lie around no topics.
    """
    near = store.rows(_nearest_other(store, store.rows(own)))
    moved = vectors + store.rows(_nearest_other(store, near)) - near
    length = np.linalg.norm(moved, axis=1, keepdims=True)
    whole: Vectors = moved / np.maximum(length, np.finfo(np.float32).tiny)
    return whole


def _nearest_other(store: VectorStore, rows: Vectors) -> Positions:
    """Of some of its rows; copies of a row are passed over, where there are not too many."""
    nothing = np.zeros(len(store), np.bool_)
    positions, scores = nearest(ExactIndex(store), store, rows, min(NEAR, len(store)), nothing)
    others: Positions = positions[np.arange(len(rows)), np.argmax(scores < scores[:, :1], axis=1)]
    return others


def measure(
    index: VectorIndex,
    store: VectorStore,
    queries: Vectors,
    own: Positions,
    excluded: Mask,
    at: int = 30,
) -> Recall:
    """Against exact search. `own`: the row that each query was made of, -1 for none; left out.

    Where fewer than `at` rows can be found, of those. What an index does not find counts as
    missed, though a search would then compare every row.
    """
    at = min(at, len(store) - int(np.count_nonzero(excluded)) - 1)
    if at < 1 or not len(queries):
        return Recall(at=0, sample=0, value=1.0, low=0.0)
    last = cutoffs(store, queries, own, excluded, at)
    value = float(recall_per_query(index, store, queries, own, excluded, last, at).mean())
    return Recall(at, len(queries), value, wilson_low(value, len(queries)))


def cutoffs(
    store: VectorStore, queries: Vectors, own: Positions, excluded: Mask, at: int
) -> Scores:
    """The score of each query's last among the exact nearest `at`, its own row left out."""
    more = min(at + 1, len(store) - int(np.count_nonzero(excluded)))
    positions, scores = nearest(ExactIndex(store), store, queries, more, excluded)
    return _without_own(positions, scores, own)[:, at - 1]


def recall_per_query(
    index: VectorIndex,
    store: VectorStore,
    queries: Vectors,
    own: Positions,
    excluded: Mask,
    last: Scores,
    at: int,
) -> NDArray[np.float64]:
    """Of each query's exact nearest `at`. Any row that scores as the last of them stands for it."""
    width = min(len(store), 2 * (at + 1) + 10)  # as a search asks for
    positions = index.search(queries, width, excluded).positions
    scores = _without_own(positions, rescored(store, queries, positions), own)
    hits: NDArray[np.int64] = np.count_nonzero(scores >= last[:, None], axis=1)
    return np.minimum(hits, at) / at


def wilson_low(share: float, sample: int) -> float:
    """The lower end of Wilson's interval. Shares within queries vary less than yes and no do."""
    square = DEVIATIONS**2 / sample
    spread = DEVIATIONS * sqrt(share * (1 - share) / sample + square / (4 * sample))
    return max(0.0, (share + square / 2 - spread) / (1 + square))


def _without_own(positions: Positions, scores: Scores, own: Positions) -> Scores:
    """Scores from the highest on; -inf for the own row and for places where nothing was found."""
    kept = np.where((positions == own[:, None]) | (positions < 0), -np.inf, scores)
    return -np.sort(-kept, axis=1)
