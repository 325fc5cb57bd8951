"""The best rows of some queries, among all rows shown to it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from retrieval.index.exact.lazy import half_query, in_single
from retrieval.index.port import rounding_error
from retrieval.vectors.types import Mask, Positions, Stored, Vectors

if TYPE_CHECKING:
    from retrieval.index.exact.half_precision import Single

SCORES_AT_ONCE = 2**18  # 1 MB: they stay in the cache
MOST_ROWS = 2**14
FEWEST_ROWS = 2**9
FEWEST_SORTED = 2**12
HALF_ULP = 2.0**-11  # the most by which float16 rounds a number of less than 2

Scores = NDArray[np.float32]


class TopK:
    """Used by one thread at a time.

    Scores are compared with the width-th best that a query has so far. Few pass, so nothing of
    the size of a matrix product is ever sorted.
    """

    def __init__(self, queries: Vectors, width: int, left_out: Mask, *, half: bool) -> None:
        """`half`: one query, whose products with rows in float16 are made in float16."""
        self._width, self._left_out = width, left_out
        count = len(queries)
        rows = min(MOST_ROWS, max(FEWEST_ROWS, SCORES_AT_ONCE // count))
        # A matrix of one column would be compared far more slowly than a vector.
        self._queries = np.ascontiguousarray(queries.T) if count > 1 else queries[0]
        self._products = np.empty((rows, count) if count > 1 else rows, np.float32)
        self._half = half_query(self._queries) if half else None
        self._single: Single | None = None
        self._least = np.full(count, -np.inf, np.float32)
        # Query, position and score of what is kept; the first of them sorted.
        self._kept = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))]
        self._until_sorted = self._most = max(2 * count * width, FEWEST_SORTED)

    def take(self, start: int, rows: Stored) -> None:
        """Rows of the store from the position `start` on."""
        for first, some in self._steps(rows):
            products = self._multiplied(some)
            here = slice(start + first, start + first + len(some))
            if (left_out := self._left_out[here]).any():
                products[left_out] = -np.inf
            if not self._kept[0][0].size:
                self._least = self._first_least(products)
            passed = np.flatnonzero(products > self._least)
            row, query = np.divmod(passed, len(self._least))
            self._keep(query, here.start + row, products.ravel()[passed])

    def take_from(self, other: "TopK") -> None:
        """What another kept, of other rows for the same queries."""
        for kept in other._kept:
            self._keep(*kept)

    def result(self) -> tuple[Positions, Scores]:
        """Queries x width, nearest first; -1 and -inf where there are fewer."""
        self._sort()
        query, position, score = self._kept[0]
        positions = np.full((len(self._least), self._width), -1, np.int64)
        scores = np.full(positions.shape, -np.inf, np.float32)
        rank = self._ranks(query)
        positions[query, rank] = position
        scores[query, rank] = score
        return positions, scores

    def _multiplied(self, rows: Stored) -> Scores:
        products = self._products[: len(rows)]
        if self._half is not None:
            products[:] = self._half.products(rows)
        elif products.ndim == 1:  # row by row memory is read faster than by several at once
            np.vecdot(self._in_single(rows), self._queries, out=products)
        else:
            np.matmul(self._in_single(rows), self._queries, out=products)
        return products

    def _in_single(self, rows: Stored) -> Vectors:
        if rows.dtype == np.float32:
            return rows.astype(np.float32, copy=False)
        self._single = self._single or in_single(FEWEST_ROWS, rows.shape[1])
        return self._single.of(rows)

    def _first_least(self, products: Scores) -> Scores:
        """Just below the width-th of a first tile, whose rows would all pass."""
        if len(products) <= self._width:
            return self._least
        of_queries = products.reshape(len(products), -1).T
        least = np.partition(of_queries, -self._width, axis=1)[:, -self._width]
        return np.nextafter(least, np.float32(-np.inf))

    def _steps(self, rows: Stored) -> Iterator[tuple[int, Stored]]:
        converted = rows.dtype != np.float32 and self._half is None
        step = FEWEST_ROWS if converted else len(self._products)
        for first in range(0, len(rows), step):
            yield first, rows[first : first + step]

    def _keep(self, query: Positions, position: Positions, score: Scores) -> None:
        if query.size:
            self._kept.append((query, position, score))
            self._until_sorted -= query.size
            if self._until_sorted <= 0 or not self._kept[0][0].size:
                self._sort()

    def _sort(self) -> None:
        """Drop what is no longer among the width best of its query."""
        query, position, score = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
        bits = score.view(np.int32).astype(np.int64)
        ascending = np.where(bits < 0, bits ^ 0x7FFFFFFF, bits)  # as the floats do
        order = np.argsort((query << 32) - ascending)
        rank = self._ranks(query[order])
        order, rank = order[rank < self._width], rank[rank < self._width]
        self._kept = [(query[order], position[order], score[order])]
        last = order[rank == self._width - 1]
        self._least[query[last]] = score[last]
        self._until_sorted = self._most - len(order)

    def _ranks(self, query: Positions) -> Positions:
        starts = np.searchsorted(query, np.arange(len(self._least)))
        return np.arange(len(query)) - starts[query]


def margin(queries: Vectors, *, half: bool) -> float:
    """The most that a score may be off by."""
    error = rounding_error(queries.shape[1])
    if not half:
        return error
    lost = np.linalg.norm(queries - queries.astype(np.float16), axis=1).max()
    return error + 1.01 * float(lost) + HALF_ULP  # by Cauchy and Schwarz, of rows of length 1


def in_half_precision(queries: int, dtype: str) -> bool:
    """To convert rows for one query takes longer than all else."""
    return queries == 1 and dtype == "float16"
