"""Rows around centres, as texts of some topics lie, and how much of them an index finds."""

from pathlib import Path

import numpy as np

from retrieval.index.approximate.faiss_index import FaissIndex
from retrieval.index.recall import Recall, measure
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Vectors
from tests.retrieval.index.stores import make_store, no_mask, unit_vectors

ROWS, DIMENSION = 1600, 24
FIRST = 1300  # rows, with which an index begins that others are added to


def clustered(count: int, seed: int, topics: int = 40) -> Vectors:
    centres = unit_vectors(topics, DIMENSION, 1)
    near = centres[np.random.default_rng(seed).integers(0, topics, count)]
    vectors = near + 0.9 * unit_vectors(count, DIMENSION, seed)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32)


def clustered_store(folder: Path, dtype: str = "float32") -> VectorStore:
    return make_store(folder, clustered(ROWS, 2), cuts=[500, FIRST], dtype=dtype)


def first_shards(folder: Path, store: VectorStore) -> VectorStore:
    return VectorStore(folder, store.identity, store.shards[:2])


def recall_of(index: FaissIndex, store: VectorStore, count: int = 100) -> Recall:
    queries = clustered(count, 3)
    return measure(index, store, queries, np.full(count, -1), no_mask(store))
