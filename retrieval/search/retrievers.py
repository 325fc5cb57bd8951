"""The retrievers by name over one open index: dense alone, BM25 alone, or a pool of both."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.errors import UserError
from core.progress import Progress, no_progress
from retrieval.index.lazy import lexical_index
from retrieval.index.open_index import OpenIndex
from retrieval.index.rescore import Scores, rescored
from retrieval.models import IndexVersion
from retrieval.ranking.fusion import ALONE, BM25, DENSE, RETRIEVERS, Fused, fused
from retrieval.vectors.types import Mask, Positions, Vectors

if TYPE_CHECKING:
    from retrieval.index.lexical.bm25_index import LexicalIndex

# Queries x k x retrievers: the rank in each, 0 where that one did not find it.
Ranks = NDArray[np.int16]
# The key's bytes, by which ties are ordered, and the position.
Place = tuple[bytes, int]


@dataclass(frozen=True)
class Pools:
    """A row a query, best first. Cosines, even of pairs that BM25 found; no ranks: dense alone.

    `strange`: which ones share no word with the query and only make up the number, as they may
    where BM25 is alone.
    """

    positions: Positions
    scores: Scores
    ranks: Ranks | None
    strange: Mask | None = None


@dataclass(frozen=True)
class Words:
    """BM25 over the pairs of an index; `places`: of each of its rows, the position in the store."""

    index: "LexicalIndex"
    places: Positions


@dataclass(frozen=True)
class Retrievers:
    names: tuple[str, ...]
    index: OpenIndex
    words: Words | None  # where BM25 is among them

    def search(
        self,
        texts: Sequence[str],
        vectors: Vectors,
        k: int,
        excluded: Mask,
        *,
        known: Sequence[Collection[int]] | None = None,
    ) -> Pools:
        """The k best of each query by the first k of every retriever.

        `known`: positions that a query has already. Retrievers go as much deeper as it has of
        them, and the k best of the others are found.
        """
        deeper = max(map(len, known), default=0) if known else 0
        if self.names == ALONE and not deeper:
            return Pools(*self.index.search(vectors, k, excluded), None)
        ranked = self._ranked(texts, vectors, k + deeper, excluded)
        return self._pools(ranked, vectors, k, known or [()] * len(texts))

    def _ranked(
        self, texts: Sequence[str], vectors: Vectors, depth: int, excluded: Mask
    ) -> dict[str, tuple[Positions, Scores]]:
        ranked: dict[str, tuple[Positions, Scores]] = {}
        for name in self.names:
            if name == DENSE:
                ranked[name] = self.index.search(vectors, depth, excluded)
            elif self.words is not None:
                places = self.words.places
                rows, scores = self.words.index.search(texts, depth, excluded[places])
                ranked[name] = places[rows], scores
        return ranked

    def _pools(
        self,
        ranked: Mapping[str, tuple[Positions, Scores]],
        vectors: Vectors,
        k: int,
        known: Sequence[Collection[int]],
    ) -> Pools:
        positions = np.empty((len(known), k), np.int64)
        ranks = np.zeros((len(known), k, len(self.names)), np.int16)
        for row, taken in enumerate(known):
            of_query = {name: (at[row], by[row]) for name, (at, by) in ranked.items()}
            pool = self._pool(of_query, k, taken)
            positions[row] = [one.key[1] for one in pool]
            for place, one in enumerate(pool):
                ranks[row, place] = [one.found_by.get(name, 0) for name in self.names]
        scores = rescored(self.index.store, vectors, positions)
        if self.names == ALONE:
            return Pools(positions, scores, None)
        strange = None
        if self.names == (BM25,):
            places, by = ranked[BM25]
            rows = zip(positions, places, by, strict=True)
            strange = np.array([~np.isin(row, near[high > 0]) for row, near, high in rows])
        return Pools(positions, scores, ranks, strange)

    def _pool(
        self, ranked: Mapping[str, tuple[Positions, Scores]], k: int, taken: Collection[int]
    ) -> list[Fused[Place]]:
        # BM25 has found what shares a word with the query, and nothing else unless it must.
        holding = {
            name: positions[scores > 0] if name == BM25 else positions
            for name, (positions, scores) in ranked.items()
        }
        whole = {name: positions for name, (positions, _) in ranked.items()}
        for lists in (holding, whole):
            places = {name: self._places(positions) for name, positions in lists.items()}
            pool = fused(places, sum(map(len, places.values())))
            left = [one for one in pool if one.key[1] not in taken]
            if len(left) >= k:
                break
        return left[:k]

    def _places(self, positions: Positions) -> list[Place]:
        keys: list[bytes] = self.index.store.keys[positions].tolist()
        return list(zip(keys, positions.tolist(), strict=True))


def open_retrievers(
    version: IndexVersion,
    index: OpenIndex,
    names: Sequence[str] = ALONE,
    progress: Progress = no_progress,
) -> Retrievers:
    """`progress` counts the pairs that BM25 reads where it was never asked before."""
    names = checked(names)
    if BM25 not in names:
        return Retrievers(names, index, None)
    lexical = lexical_index(version, progress)
    return Retrievers(names, index, Words(lexical, index.store.positions_of(lexical.keys)))


def checked(names: Sequence[str]) -> tuple[str, ...]:
    """In one order, whatever order they were named in."""
    if unknown := [name for name in names if name not in RETRIEVERS]:
        raise UserError(
            f"There is no retriever {unknown[0]!r}: choose among {', '.join(RETRIEVERS)}, "
            "with a comma between them."
        )
    if not names:
        raise UserError(f"Name a retriever: {' or '.join(RETRIEVERS)}.")
    return tuple(name for name in RETRIEVERS if name in names)
