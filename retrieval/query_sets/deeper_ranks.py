"""The ranks below a query set's candidates, for some of its queries: what its depth leaves out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.errors import UserError
from core.progress import Progress, no_progress
from retrieval.index.open_index import OpenIndex, open_index
from retrieval.index.versions import index_root
from retrieval.models import Candidate, IndexVersion, Query, QuerySet
from retrieval.query_sets.held_out import sample_of, save_drawn
from retrieval.registry.question_encoder import question_encoder
from retrieval.search.candidates import Retrieved, find, require_enough, require_same_model, save
from retrieval.search.retrievers import open_retrievers
from retrieval.vectors.folder import verify
from retrieval.vectors.types import QuestionEncoder

LOOKUP = 200  # queries, with all their candidates


@dataclass(frozen=True)
class Deeper:
    """What the same search ranks next for these queries of the query set, unsaved."""

    studied: QuerySet
    first_rank: int
    last_rank: int
    seed: int
    retrieved: Retrieved


def retrieve_deeper(
    studied: QuerySet,
    *,
    queries: int,
    k: int,
    to: int,
    seed: int,
    as_far_as_it_goes: bool = False,
    progress: Progress = no_progress,
    device: str = "auto",
    encoder: QuestionEncoder | None = None,
) -> Deeper:
    """Ranks k + 1 to `to` of some queries, drawn by the seed; the query set has ranks 1 to k.

    The search is the one of before: its index, its retrievers, and all its queries held out.
    `as_far_as_it_goes`: in a small corpus `to` is its last rank instead.
    """
    version = _same_index(studied)
    drawn = sample_of(studied, queries, seed)
    index = open_index(version).trusted()
    excluded = index.excluded(list(studied.whole.values_list("question_key", flat=True)))
    if as_far_as_it_goes:
        to = max(k + 1, min(to, int((~excluded).sum())))
    require_enough(drawn, index, excluded, to)
    encoder = encoder or question_encoder(version, device, questions=len(drawn))
    require_same_model(version, encoder)
    vectors = encoder.encode_questions([query.text for query in drawn])
    asked = open_retrievers(version, index, studied.retrievers)
    known = _known(drawn, index)
    deeper = find(drawn, vectors, asked, to - k, excluded, known=known, progress=progress)
    return Deeper(studied, k + 1, to, seed, deeper)


def store_deeper(name: str, deeper: Deeper) -> QuerySet:
    """Inside a transaction of the caller's."""
    query_set = save_drawn(
        name, QuerySet.Origin.POOL_DEPTH, deeper.studied, deeper.retrieved.queries, deeper.seed
    )
    query_set.retrieved_with = deeper.studied.retrieved_with
    ranks = [deeper.first_rank, deeper.last_rank]
    query_set.retrieval = {"retrievers": list(deeper.studied.retrievers), "ranks": ranks}
    query_set.save(update_fields=["retrieved_with", "retrieval"])
    copies = list(query_set.queries.order_by("position"))
    save(replace(deeper.retrieved, queries=copies), first_rank=deeper.first_rank)
    return query_set


def _same_index(studied: QuerySet) -> IndexVersion:
    then = studied.retrieved_with
    if then is None:
        raise UserError(
            f"The candidates of {studied} are not retrieved yet, so no rank hides anything: run "
            f"`quorum campaign retrieve {studied}` first."
        )
    # It need not be the current one: prune keeps what query sets were retrieved with.
    verify(index_root(), then.path, then.manifest)
    return then


def _known(queries: Sequence[Query], index: OpenIndex) -> list[set[int]]:
    """The positions of the candidates that each query has."""
    known: dict[int, set[int]] = {query.pk: set() for query in queries}
    for start in range(0, len(queries), LOOKUP):
        some = Candidate.objects.filter(query__in=queries[start : start + LOOKUP])
        rows = list(some.values_list("query_id", "pair__pair_key"))
        positions = index.store.positions([key for _, key in rows]).tolist()
        for (query, _), position in zip(rows, positions, strict=True):
            known[query].add(position)
    return list(known.values())
