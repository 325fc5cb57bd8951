"""Retrieving the candidates of a query set, and the vectors of pairs."""

from collections.abc import Callable, Sequence
from dataclasses import asdict

import numpy as np
from django.db import transaction

from core.errors import UserError
from core.progress import Progress, no_progress
from retrieval.index.open_index import OpenIndex, open_index
from retrieval.index.recall import Recall, measure
from retrieval.index.tuning import RECALL
from retrieval.index.versions import chosen_index, current_index, index_root
from retrieval.models import Candidate, IndexVersion, QaPair, QuerySet
from retrieval.ranking.fusion import ALONE, DENSE
from retrieval.registry.question_encoder import question_encoder
from retrieval.search.candidates import find, require_enough, require_same_model, save
from retrieval.search.retrievers import checked, open_retrievers
from retrieval.vectors.folder import open_version_store
from retrieval.vectors.types import Mask, QuestionEncoder, Vectors

__all__ = ["current_index", "pair_vectors", "retrieve"]

LOOKUP = 2_000  # ids in one database query
MEASURED_ON = 500  # queries
SEED = 1


def retrieve(
    query_set: QuerySet,
    *,
    k: int,
    retrievers: Sequence[str] = ALONE,
    progress: Progress = no_progress,
    encoding: Progress = no_progress,
    reading: Progress = no_progress,
    device: str = "auto",
    encoder: QuestionEncoder | None = None,
    fresh: bool = False,
    conclude: Callable[[int], object] = lambda retrieved: None,
) -> int:
    """Store the k best pairs of every query, all or nothing; returns their number.

    No pair whose question is one of this query set's is a candidate of any of its queries. Pairs
    that the index of its corpus lacks are none either: `retrieval` says how many, and with `fresh`
    they are refused.
    An index that finds less of these very queries than it was built for is not used: they are
    searched exactly, and `retrieval` says so.
    Done before with the same index and retrievers, it only counts. `progress` counts the queries
    searched for, after `encoding` those encoded and `reading` the pairs that BM25 has to read
    where nobody searched them by it before; saving follows, and in its transaction `conclude` is
    told their number.
    """
    names = checked(retrievers)
    query_set.refresh_from_db()
    if query_set.retrieved_with is not None:
        return _count_retrieved(query_set, query_set.retrieved_with, names, k)
    version = current_index(query_set.corpus, fresh=fresh)
    queries = list(query_set.queries.order_by("question_key"))
    index = open_index(version)
    excluded = index.excluded([query.question_key for query in queries])
    require_enough(queries, index, excluded, k)
    encoder = encoder or question_encoder(version, device, questions=len(queries))
    require_same_model(version, encoder)
    vectors = encoder.encode_questions([query.text for query in queries], encoding)
    details: dict[str, object] = {"retrievers": list(names)}
    if DENSE in names and queries and not index.index.exact:
        wanted = float(version.manifest.get("asked", {}).get("recall", RECALL))
        recall = _recall(index, vectors, excluded, k)
        details["recall"] = asdict(recall) | {"wanted": wanted}
        if recall.value < wanted:
            index, details["searched"] = index.exactly(), "exact"
    asked = open_retrievers(version, index, names, reading)
    retrieved = find(queries, vectors, asked, k, excluded, progress=progress)
    if lacking := index.pairs_not_indexed(index.excluded()):
        details["pairs_not_indexed"] = lacking
    with transaction.atomic():
        _claim(query_set, version, details)
        save(retrieved)
        conclude(len(queries) * k)
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


def _recall(index: OpenIndex, vectors: Vectors, excluded: Mask, k: int) -> Recall:
    """Of the queries, or of a sample of them."""
    drawn = np.random.default_rng(SEED).permutation(len(vectors))[:MEASURED_ON]
    nobody = np.full(len(drawn), -1)
    return measure(index.index, index.store, vectors[drawn], nobody, excluded, k)


def _claim(query_set: QuerySet, index: IndexVersion, retrieval: dict[str, object]) -> None:
    unclaimed = QuerySet.objects.filter(pk=query_set.pk, retrieved_with=None)
    if not unclaimed.update(retrieved_with=index, retrieval=retrieval):
        raise UserError(f"Another process has just retrieved the candidates of {query_set}.")
    query_set.retrieved_with, query_set.retrieval = index, retrieval


def _count_retrieved(
    query_set: QuerySet, index: IndexVersion, retrievers: tuple[str, ...], k: int
) -> int:
    if index != chosen_index(query_set.corpus):
        raise UserError(
            f"The candidates of {query_set} were retrieved with another index ({index}): "
            "make a new query set to retrieve with this one."
        )
    if query_set.retrievers != retrievers:
        raise UserError(
            f"The candidates of {query_set} were retrieved by {' and '.join(query_set.retrievers)}"
            f", not by {' and '.join(retrievers)}: make a new query set to retrieve by others."
        )
    total = Candidate.objects.filter(query__query_set=query_set).count()
    wanted = query_set.queries.count() * k
    if total != wanted:
        raise UserError(
            f"{query_set} already has {total:,} candidates instead of {wanted:,}: "
            "make a new query set for another number of candidates a query."
        )
    return total
