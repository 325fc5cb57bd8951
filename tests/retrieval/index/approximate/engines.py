"""Engines that hold vectors, started for the tests, and stores of made-up clusters for them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from retrieval.index.approximate.engine_index import EngineIndex
from retrieval.index.exact.exact import ExactIndex
from retrieval.index.port import VectorIndex
from retrieval.index.rescore import nearest
from retrieval.vectors.shards import Identity, Shard, write_shard
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, Vectors

DIMENSION = 24
IDENTITY = Identity("made", "f" * 64, "mean", "QQ", DIMENSION, "fp32", "float16")
MakeStore = Callable[..., VectorStore]


@dataclass(frozen=True)
class Engine:
    index: type[EngineIndex]
    tables: Callable[[], dict[str, int]]  # the rows of each
    lose: Callable[[str], object]  # a table, behind our back


def shard(folder: Path, size: int, seed: int) -> Shard:
    random = np.random.default_rng(seed)
    keys = np.frombuffer(random.bytes(32 * size), "S32")
    return write_shard(folder, IDENTITY, keys, unit_vectors(size, seed))


def unit_vectors(count: int, seed: int) -> Vectors:
    """In clusters, as texts are."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(20, DIMENSION))
    vectors = centres[random.integers(20, size=count)] + random.normal(size=(count, DIMENSION)) / 2
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def none_of(store: VectorStore) -> Mask:
    return np.zeros(len(store), np.bool_)


def same_ranking(index: VectorIndex, store: VectorStore, excluded: Mask, k: int = 30) -> None:
    queries = unit_vectors(20, 7)
    found, scores = nearest(index, store, queries, k, excluded)
    expected, expected_scores = nearest(ExactIndex(store), store, queries, k, excluded)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(scores, expected_scores)
