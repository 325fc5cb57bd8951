"""From queries to their candidates: what is nearest, and the rows that say so."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.errors import UserError
from core.progress import Progress, no_progress
from retrieval.index.open_index import OpenIndex
from retrieval.index.rescore import Scores
from retrieval.models import Candidate, IndexVersion, QaPair, Query
from retrieval.search.retrievers import Ranks, Retrievers
from retrieval.vectors.folder import rebuild_hint
from retrieval.vectors.types import Mask, Positions, QuestionEncoder, Vectors, unpacked

# An exact search reads all vectors once a call: 15,211 queries x 384 floats are but 23 MB.
SEARCHED_AT_ONCE = 4_096
SAVED_AT_ONCE = 512  # queries with all their candidates
LOOKUP = 2_000  # keys in one database query


@dataclass(frozen=True)
class Retrieved:
    """The candidates of some queries in arrays, queries x k, best first: see Pools."""

    queries: Sequence[Query]
    retrievers: tuple[str, ...]
    pair_ids: NDArray[np.int64]
    scores: Scores
    ranks: Ranks | None


def require_enough(queries: Sequence[Query], index: OpenIndex, excluded: Mask, k: int) -> None:
    left = int((~excluded).sum())
    if queries and left < k:
        raise UserError(
            f"Query {queries[0].key} ({queries[0].text[:60]!r}) has only {left} candidates of {k}: "
            f"the index holds {len(excluded) - len(index.removed):,} pairs, "
            f"{int(excluded.sum()) - len(index.removed):,} of them with held-out questions or "
            "withdrawn; add pairs by `quorum corpus import`, hold out fewer queries or ask for "
            "fewer candidates."
        )


def require_same_model(index: IndexVersion, encoder: QuestionEncoder) -> None:
    if encoder.fingerprint != index.manifest["model_fingerprint"]:
        raise UserError(
            f"The model {encoder.name} is not the one that the index was made with, {index.model} "
            f"as it then was: {rebuild_hint(index.manifest)}."
        )


def find(
    queries: Sequence[Query],
    vectors: Vectors,
    retrievers: Retrievers,
    k: int,
    excluded: Mask,
    *,
    known: Sequence[Collection[int]] | None = None,
    progress: Progress = no_progress,
) -> Retrieved:
    """Their k best; `known`: positions of candidates that each query has already."""
    positions = np.empty((len(queries), k), np.int64)
    scores = np.empty((len(queries), k), np.float64)
    ranks = np.zeros((len(queries), k, len(retrievers.names)), np.int16)
    pooled = False
    for start in range(0, len(queries), SEARCHED_AT_ONCE):
        step = slice(start, start + SEARCHED_AT_ONCE)
        texts = [query.text for query in queries[step]]
        pools = retrievers.search(texts, vectors[step], k, excluded, known=known and known[step])
        positions[step], scores[step] = pools.positions, pools.scores
        if pools.ranks is not None:
            ranks[step], pooled = pools.ranks, True
        progress(len(texts))
    ids = pair_ids(retrievers.index, positions)
    return Retrieved(queries, retrievers.names, ids, scores, ranks if pooled else None)


def pair_ids(index: OpenIndex, positions: Positions) -> NDArray[np.int64]:
    """The database's ids of the pairs at these positions, in the same shape."""
    distinct, back = np.unique(positions, return_inverse=True)
    ids = np.empty(len(distinct), np.int64)
    for start in range(0, len(distinct), LOOKUP):
        keys = unpacked(index.store.keys[distinct[start : start + LOOKUP]])
        pairs = QaPair.objects.filter(pair_key__in=keys).values_list("pair_key", "pk")
        pk_of = dict(pairs.iterator())
        ids[start : start + LOOKUP] = [pk_of[key] for key in keys]
    return ids[back].reshape(positions.shape)


def save(retrieved: Retrieved, *, first_rank: int = 1) -> None:
    """Some queries at a time: half a million rows are never in memory together."""
    for start in range(0, len(retrieved.queries), SAVED_AT_ONCE):
        step = range(start, min(start + SAVED_AT_ONCE, len(retrieved.queries)))
        rows = [row for query in step for row in _candidates(retrieved, query, first_rank)]
        Candidate.objects.bulk_create(rows)


def _candidates(retrieved: Retrieved, number: int, first_rank: int) -> Iterator[Candidate]:
    pairs, scores = retrieved.pair_ids[number].tolist(), retrieved.scores[number].tolist()
    for place, (pair_id, score) in enumerate(zip(pairs, scores, strict=True)):
        yield Candidate(
            query_id=retrieved.queries[number].pk,
            pair_id=pair_id,
            rank=first_rank + place,
            score=score,
            found_by=_found_by(retrieved, number, place),
        )


def _found_by(retrieved: Retrieved, number: int, place: int) -> dict[str, int] | None:
    if retrieved.ranks is None:
        return None
    ranks = zip(retrieved.retrievers, retrieved.ranks[number, place].tolist(), strict=True)
    return {name: rank for name, rank in ranks if rank}
