"""Retrieving the candidates of a query set, and the vectors of pairs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from django.db import transaction
from numpy.typing import NDArray

from retrieval.errors import UserError
from retrieval.lazy import load_encoder
from retrieval.models import Candidate, IndexVersion, QaPair, Query, QuerySet
from retrieval.opened import OpenIndex, open_index
from retrieval.progress import Progress, no_progress
from retrieval.store.folder import open_version_store, rebuild_hint
from retrieval.vectors import Encoder, Mask, Positions, Vectors, unpacked
from retrieval.versions import chosen_index, current_index, index_root

__all__ = ["current_index", "load_encoder", "pair_vectors", "retrieve"]

QUERIES_PER_STEP = 512
LOOKUP = 2_000  # keys or ids in one database query


def retrieve(
    query_set: QuerySet,
    *,
    k: int,
    progress: Progress = no_progress,
    device: str = "auto",
    encoder: Encoder | None = None,
) -> int:
    """Store the k nearest pairs of every query, all or nothing; returns their number.

    No pair whose question is one of this query set's is a candidate of any of its queries.
    Done before with the same index, it only counts. `progress` counts the queries searched for;
    saving follows.
    """
    query_set.refresh_from_db()
    if query_set.retrieved_with is not None:
        return _count_retrieved(query_set, query_set.retrieved_with, k)
    version = current_index()
    queries = list(query_set.queries.order_by("question_key"))
    index = open_index(version)
    excluded = index.excluded([query.question_key for query in queries])
    _require_enough(queries, index, excluded, k)
    if encoder is None:
        encoder = load_encoder(version.model, device)
    _require_same_model(version, encoder)
    found = list(_nearest(queries, k, index, excluded, encoder, progress))
    with transaction.atomic():
        _claim(query_set, version)
        for step in found:
            Candidate.objects.bulk_create(_candidates(step))
    return len(queries) * k


def pair_vectors(pair_ids: Sequence[int], index: IndexVersion | None = None) -> Vectors:
    """The vectors that the current index holds of these pairs, in their order.

    `index`: the current one, where the caller has it already; to check it takes seconds.
    """
    index = index or current_index()
    keys: dict[int, str] = {}
    for start in range(0, len(pair_ids), LOOKUP):
        some = QaPair.objects.filter(pk__in=pair_ids[start : start + LOOKUP])
        keys.update(some.values_list("pk", "pair_key"))
    if missing := sorted(set(pair_ids) - keys.keys()):
        raise UserError(f"There are no q/a pairs with the ids {missing[:10]}.")
    store = open_version_store(index_root(), index.manifest)
    return store.rows(store.positions([keys[pk] for pk in pair_ids]))


@dataclass(frozen=True)
class Nearest:
    """Pair ids and scores, both queries x k, nearest first."""

    queries: Sequence[Query]
    pair_ids: NDArray[np.int64]
    scores: NDArray[np.float64]


def _require_enough(queries: Sequence[Query], index: OpenIndex, excluded: Mask, k: int) -> None:
    left = int((~excluded).sum())
    if queries and left < k:
        raise UserError(
            f"Query {queries[0].key} ({queries[0].text[:60]!r}) has only {left} candidates of {k}: "
            f"the index holds {len(excluded) - len(index.removed):,} pairs, "
            f"{int(excluded.sum()) - len(index.removed):,} of them with held-out questions or "
            "withdrawn; add pairs by `manage.py ingest`, hold out fewer queries or ask for fewer "
            "candidates."
        )


def _require_same_model(index: IndexVersion, encoder: Encoder) -> None:
    if encoder.fingerprint != index.manifest["model_fingerprint"]:
        raise UserError(
            f"The model {encoder.name} is not the one that the index was made with, {index.model} "
            f"as it then was: {rebuild_hint(index.manifest)}."
        )


def _nearest(
    queries: Sequence[Query],
    k: int,
    index: OpenIndex,
    excluded: Mask,
    encoder: Encoder,
    progress: Progress,
) -> Iterator[Nearest]:
    for start in range(0, len(queries), QUERIES_PER_STEP):
        step = queries[start : start + QUERIES_PER_STEP]
        vectors = encoder.encode_questions([query.text for query in step])
        positions, scores = index.search(vectors, k, excluded)
        yield Nearest(step, pair_ids(index, positions), scores)
        progress(len(step))


def pair_ids(index: OpenIndex, positions: Positions) -> NDArray[np.int64]:
    """The database's ids of the pairs at these positions, in the same shape."""
    distinct, back = np.unique(positions, return_inverse=True)
    keys = unpacked(index.store.keys[distinct])
    ids: dict[str, int] = {}
    for start in range(0, len(keys), LOOKUP):
        some = QaPair.objects.filter(pair_key__in=keys[start : start + LOOKUP])
        ids.update(some.values_list("pair_key", "pk"))
    return np.array([ids[key] for key in keys], np.int64)[back].reshape(positions.shape)


def _candidates(found: Nearest) -> Iterator[Candidate]:
    rows = zip(found.queries, found.pair_ids.tolist(), found.scores.tolist(), strict=True)
    for query, pair_ids, scores in rows:
        for rank, (pair_id, score) in enumerate(zip(pair_ids, scores, strict=True), 1):
            yield Candidate(query_id=query.pk, pair_id=pair_id, rank=rank, score=score)


def _claim(query_set: QuerySet, index: IndexVersion) -> None:
    unclaimed = QuerySet.objects.filter(pk=query_set.pk, retrieved_with=None)
    if not unclaimed.update(retrieved_with=index):
        raise UserError(f"Another process has just retrieved the candidates of {query_set}.")
    query_set.retrieved_with = index


def _count_retrieved(query_set: QuerySet, index: IndexVersion, k: int) -> int:
    if index != chosen_index():
        raise UserError(
            f"The candidates of {query_set} were retrieved with another index ({index}): "
            "make a new query set to retrieve with this one."
        )
    found = Candidate.objects.filter(query__query_set=query_set).count()
    wanted = query_set.queries.count() * k
    if found != wanted:
        raise UserError(
            f"{query_set} already has {found:,} candidates instead of {wanted:,}: "
            "make a new query set for another number of candidates a query."
        )
    return found
