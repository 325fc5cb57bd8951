"""Ranks to learn from (the reranking paper's QRP): the index's first pairs for each query, and in
half of the ranks the first one swapped with another.

The query's own pairs are left out. Each draw depends on the seed, the epoch, and the row alone:
there are as many as are wanted.
"""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from core.errors import UserError
from core.progress import Progress, no_progress
from core.text.clean import question_key
from retrieval.index.open_index import OpenIndex, open_index
from retrieval.index.versions import current_index
from retrieval.models import Corpus, IndexVersion, QaPair, Query
from retrieval.query_sets.held_out import draw_queries, read_queries
from retrieval.ranking.fusion import ALONE
from retrieval.registry.question_encoder import question_encoder
from retrieval.search.candidates import find, require_enough, require_same_model
from retrieval.search.retrievers import open_retrievers
from retrieval.training.building.shards import Request, build, draws, of_epochs
from retrieval.vectors.types import Mask, QuestionEncoder, packed

DEPTH = 5  # the paper's
QUERIES = 2_000  # in a shard
LOOKUP = 2_000


@dataclass(frozen=True)
class RankOptions:
    depth: int = DEPTH
    seed: int = 1
    epochs: int = 1  # draws of each query
    corpus: Corpus | None = None
    device: str = "auto"


def build_ranks(
    folder: Path,
    texts: Sequence[str],
    options: RankOptions,
    *,
    encoder: QuestionEncoder | None = None,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """`progress` counts shards of QUERIES queries each."""
    if options.depth < 2:
        raise UserError(f"A rank of {options.depth} has nothing to swap: take 2 or more.")
    version = current_index(options.corpus)
    request = Request(
        "ranks",
        options.seed,
        {"depth": options.depth, "queries": len(texts), **of_epochs(options.epochs)},
        {
            "queries": hashlib.sha256("\n".join(texts).encode()).hexdigest(),
            "database": version.database_digest,
            "model": version.manifest["model_fingerprint"],
            "index": f"{version.kind} {version.form}",
        },
    )
    ranker = _Ranker(version, options, encoder, len(texts))
    shards = shard_count(texts)
    return build(folder, request, shards, partial(ranker.rows, texts), progress=progress)


def shard_count(texts: Sequence[str]) -> int:
    return -(-len(texts) // QUERIES)


def sampled(count: int, seed: int, corpus: Corpus | None, progress: Progress) -> list[str]:
    """Questions of the corpus that no campaign holds out."""
    return [draft.text for draft in draw_queries(count, seed, progress, corpus=corpus).drafts]


def of_file(path: Path) -> list[str]:
    return [draft.text for draft in read_queries(path)[0]]


class _Ranker:
    """Encoder and index are opened for the first shard that is still to be built."""

    def __init__(
        self,
        version: IndexVersion,
        options: RankOptions,
        encoder: QuestionEncoder | None,
        queries: int,
    ) -> None:
        self._version, self._options = version, options
        self._encoder, self._queries = encoder, queries
        self._open: tuple[OpenIndex, Mask] | None = None

    def rows(self, texts: Sequence[str], shard: int) -> Iterator[dict[str, Any]]:
        first = shard * QUERIES
        some = [
            Query(key=str(first + number), text=text, question_key=question_key(text))
            for number, text in enumerate(texts[first : first + QUERIES])
        ]
        for number, (query, pairs) in enumerate(zip(some, self._pairs(some), strict=True), first):
            for draw in draws(self._options.seed, self._options.epochs, number):
                yield _rank(query.text, pairs, draw)

    def _pairs(self, queries: Sequence[Query]) -> list[list[tuple[str, str]]]:
        version, depth = self._version, self._options.depth
        if self._encoder is None:
            self._encoder = question_encoder(version, self._options.device, questions=self._queries)
        require_same_model(version, self._encoder)
        if self._open is None:
            index = open_index(version).trusted()
            self._open = index, index.excluded()
        index, excluded = self._open
        require_enough(queries, index, excluded, depth)
        vectors = self._encoder.encode_questions([query.text for query in queries])
        retrievers = open_retrievers(version, index, ALONE)
        retrieved = find(queries, vectors, retrievers, depth, excluded, known=_own(queries, index))
        texts = _texts(retrieved.pair_ids.ravel().tolist())
        return [[texts[pair] for pair in row] for row in retrieved.pair_ids.tolist()]


def _own(queries: Sequence[Query], index: OpenIndex) -> list[set[int]]:
    """The places of each query's own pairs: what asks the same tells nothing of a rank."""
    asked = [query.question_key for query in queries]
    rows = list(
        QaPair.objects.filter(question_key__in=asked).values_list("question_key", "pair_key")
    )
    positions = index.store.positions_of(packed([pair for _, pair in rows])).tolist()
    own: defaultdict[str, set[int]] = defaultdict(set)
    for (key, _), position in zip(rows, positions, strict=True):
        if position >= 0:
            own[key].add(position)
    return [own[key] for key in asked]


def _texts(pair_ids: Sequence[int]) -> dict[int, tuple[str, str]]:
    distinct = sorted(set(pair_ids))
    texts: dict[int, tuple[str, str]] = {}
    for start in range(0, len(distinct), LOOKUP):
        rows = QaPair.objects.filter(pk__in=distinct[start : start + LOOKUP])
        for pk, *pair in rows.values_list("pk", "question", "answer"):
            texts[pk] = pair[0], pair[1]
    return texts


def _rank(query: str, pairs: list[tuple[str, str]], draw: random.Random) -> dict[str, Any]:
    """Label 1: as the index ranked them; 0: the first one stands elsewhere."""
    pairs = list(pairs)
    label = int(draw.random() < 0.5)
    if not label:
        other = draw.randrange(1, len(pairs))
        pairs[0], pairs[other] = pairs[other], pairs[0]
    return {"query": query, "pairs": pairs, "label": label}
