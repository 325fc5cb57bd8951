"""The retrievers that the quality benchmark compares, each over the first n rows of a corpus.

Vectors lie in stores under var/bench/quality, shard by shard: a killed run goes on.
"""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from tqdm import tqdm

import benchmarks.ready  # noqa: F401
from benchmarks import folders
from benchmarks.quality.tasks import Pair, Task
from core.text.clean import pair_key
from retrieval.encoders.lazy import load_encoder
from retrieval.index.exact.exact import ExactIndex
from retrieval.index.lexical.bm25_index import LexicalIndex
from retrieval.index.rescore import nearest
from retrieval.ranking.fusion import BM25, DENSE, fused
from retrieval.vectors.folder import store_folder
from retrieval.vectors.shards import Identity, sound_shards, write_shard
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Encoder, Vectors, packed

DEPTH = 30
SHARD_PAIRS = 4096  # what a killed run loses at most

Rows = Sequence[Sequence[int]]  # of the corpus, nearest first, for each query
Search = Callable[[int], Rows]  # among the first so many rows of the corpus


def dense(task: Task, form: str, model: str, device: str) -> Search:
    encoder = loaded(model, device)
    queries = encoder.encode_questions(task.queries)

    @cache
    def search(size: int) -> Rows:
        pairs = task.corpus[:size]
        store = encoded(pairs, form, encoder)
        at = store.positions([key_of(pair, form) for pair in pairs])
        excluded = np.ones(len(store), np.bool_)
        excluded[at] = False
        row = np.full(len(store), -1, np.int64)
        row[at] = np.arange(size)
        found, _ = nearest(ExactIndex.build(store, {}), store, queries, DEPTH, excluded)
        rows: Rows = row[found].tolist()
        return rows

    return search


def lexical(task: Task, *, with_answers: bool) -> Search:
    @cache
    def search(size: int) -> Rows:
        keys = packed([pair_key(*pair) for pair in task.corpus[:size]])
        order = np.argsort(keys)
        texts = (" ".join(task.corpus[row][: 1 + with_answers]) for row in order.tolist())
        index = LexicalIndex.build(keys[order], texts)
        found, _ = index.search(task.queries, DEPTH, np.zeros(size, np.bool_))
        rows: Rows = order[found].tolist()
        return rows

    return search


def hybrid(one: Search, other: Search) -> Search:
    """As a campaign pools them: reciprocal rank fusion of the two rankings."""

    def search(size: int) -> Rows:
        pools = zip(one(size), other(size), strict=True)
        return [
            [pooled.key for pooled in fused({DENSE: near, BM25: words}, DEPTH)]
            for near, words in pools
        ]

    return search


@cache
def loaded(model: str, device: str) -> Encoder:
    return load_encoder(model, device)


def encoded(pairs: Sequence[Pair], form: str, encoder: Encoder) -> VectorStore:
    """A store that holds these pairs among others; what it lacks is encoded, in their order."""
    identity = Identity(
        model=encoder.name,
        model_fingerprint=encoder.fingerprint,
        pooling=encoder.pooling,
        form=form,
        dimension=encoder.dimension,
        precision=encoder.precision,
        dtype="float32",
    )
    place = store_folder(folders.WORK / "quality", identity)
    shards = sound_shards(place, identity)
    keys = packed([key_of(pair, form) for pair in pairs])
    lacking = np.flatnonzero(VectorStore(place, identity, shards).positions_of(keys) < 0)
    with tqdm(
        total=len(lacking), desc=f"{encoder.name.split('/')[-1]} {form}", unit="texts"
    ) as bar:
        for start in range(0, len(lacking), SHARD_PAIRS):
            rows = lacking[start : start + SHARD_PAIRS].tolist()
            vectors = vectors_of([pairs[row] for row in rows], form, encoder)
            shards.append(write_shard(place, identity, keys[rows], vectors))
            bar.update(len(rows))
    return VectorStore(place, identity, shards)


def vectors_of(pairs: Sequence[Pair], form: str, encoder: Encoder) -> Vectors:
    if form == "QQA":
        return encoder.encode_pairs(pairs)
    return encoder.encode_questions([question for question, _ in pairs])


def key_of(pair: Pair, form: str) -> str:
    """Of a question alone for QQ: both tasks share its vector."""
    return pair_key(pair[0], pair[1] if form == "QQA" else "")
