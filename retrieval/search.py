"""Building the index, and retrieving the candidates of a query set."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from django.conf import settings
from django.db import transaction
from numpy.typing import NDArray

from retrieval.errors import UserError
from retrieval.models import Candidate, IndexForm, IndexVersion, QaPair, Query, QuerySet
from retrieval.progress import Progress, no_progress
from retrieval.store import Manifest, complete, fresh_folder, install, rebuild_hint
from retrieval.vectors import Encoder, Vectors
from retrieval.versions import (
    IndexedPairs,
    choose,
    chosen_index,
    current_index,
    database_digest,
    digest_of,
    folder_of,
    indexed_pairs,
    intact_index,
    record,
    require_storable,
)

if TYPE_CHECKING:
    from retrieval.index import VectorIndex

__all__ = ["build_index", "current_index", "load_encoder", "pair_vectors", "retrieve"]

PAIRS_PER_STEP = 1024
QUERIES_PER_STEP = 512
LOOKUP = 10_000  # ids in one database query


# The only imports inside functions: torch takes seconds and half a gigabyte, which the site, the
# worker and most commands never need, and the tests of rankings need FAISS alone.


def load_encoder(model: str, device: str = "auto") -> Encoder:
    from retrieval import encoder  # noqa: PLC0415

    return encoder.load_encoder(model, device)


def load_faiss() -> ModuleType:
    """The module `index`."""
    from retrieval import index  # noqa: PLC0415

    return index


def build_index(
    model: str,
    form: str,
    device: str = "auto",
    progress: Progress = no_progress,
    *,
    encoder: Encoder | None = None,
) -> IndexVersion:
    """Make the index of this model and form the current one; built only if there is none yet.

    A build that is stopped leaves nothing behind. `encoder` replaces the model named;
    `progress` counts pairs.
    """
    if form not in IndexForm.values:
        raise UserError(f"There is no form {form!r}: choose {' or '.join(IndexForm.values)}.")
    if not QaPair.objects.exists():
        raise UserError(
            "The database holds no q/a pairs: add some by `manage.py ingest FILE --source NAME`."
        )
    if encoder is None:
        encoder = load_encoder(model, device)
    require_storable(encoder.name)
    with fresh_folder(Path(settings.INDEX_DIR)) as folder:
        index = intact_index(encoder.name, encoder.fingerprint, form)
        if index is not None:
            return choose(index)
        manifest = complete(folder, _write_vectors(folder, encoder, form, progress))
        return record(install(folder, manifest), manifest)


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
    index = current_index()
    queries = list(query_set.queries.order_by("question_key"))
    pairs = indexed_pairs(index, {query.question_key for query in queries})
    _require_enough(queries, pairs, k)
    if encoder is None:
        encoder = load_encoder(index.model, device)
    _require_same_model(index, encoder)
    found = list(_nearest(queries, k, pairs, open_index(index), encoder, progress))
    with transaction.atomic():
        _claim(query_set, index)
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
    vectors = open_index(index, mapped=True)
    return vectors.vectors(vectors.positions([keys[pk] for pk in pair_ids]))


def open_index(index: IndexVersion, *, mapped: bool = False) -> "VectorIndex":
    folder = folder_of(index)
    opened: VectorIndex = load_faiss().open_index(folder, index.manifest, mapped=mapped)
    return opened


@dataclass(frozen=True)
class Nearest:
    """Pair ids and scores, both queries x k, nearest first."""

    queries: Sequence[Query]
    pair_ids: NDArray[np.int64]
    scores: NDArray[np.float64]


def _require_enough(queries: Sequence[Query], pairs: IndexedPairs, k: int) -> None:
    held_out = int(pairs.held_out.sum())
    left = len(pairs.ids) - held_out
    if queries and left < k:
        raise UserError(
            f"Query {queries[0].key} ({queries[0].text[:60]!r}) has only {left} candidates of {k}: "
            f"the database holds {len(pairs.ids):,} pairs, {held_out:,} of them with held-out "
            "questions; add pairs by `manage.py ingest`, hold out fewer queries or ask for fewer "
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
    pairs: IndexedPairs,
    index: "VectorIndex",
    encoder: Encoder,
    progress: Progress,
) -> Iterator[Nearest]:
    for start in range(0, len(queries), QUERIES_PER_STEP):
        step = queries[start : start + QUERIES_PER_STEP]
        vectors = encoder.encode_questions([query.text for query in step])
        positions, scores = index.search(vectors, k, pairs.held_out)
        yield Nearest(step, pairs.ids[positions], scores)
        progress(len(step))


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


def _write_vectors(folder: Path, encoder: Encoder, form: str, progress: Progress) -> Manifest:
    index = load_faiss()
    writer = index.IndexWriter(encoder.dimension)
    keys: list[str] = []
    for step in _pair_steps():
        if form == IndexForm.QQA:
            vectors = encoder.encode_pairs([(question, answer) for _, question, answer in step])
        else:
            vectors = encoder.encode_questions([question for _, question, _ in step])
        step_keys = [key for key, _, _ in step]
        writer.add(step_keys, vectors)
        keys += step_keys
        progress(len(step))
    digest = digest_of(keys)
    if digest != database_digest():
        raise UserError("The q/a pairs changed while the index was made: run the command again.")
    writer.write(folder)
    return {
        "database_digest": digest,
        "dimension": encoder.dimension,
        "form": form,
        "model": encoder.name,
        "model_fingerprint": encoder.fingerprint,
        "pairs": len(keys),
        "versions": {**encoder.versions, **index.versions()},
    }


def _pair_steps() -> Iterator[list[tuple[str, str, str]]]:
    """Key, question and answer in the order of the keys; no database query stays open meanwhile."""
    rows = QaPair.objects.order_by("pair_key").values_list("pair_key", "question", "answer")
    last = ""
    while step := list(rows.filter(pair_key__gt=last)[:PAIRS_PER_STEP]):
        yield step
        last = step[-1][0]
