"""Stores of made-up vectors, and what a search of them must find."""

import hashlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from retrieval.vectors.shards import Identity, write_shard
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, Positions, Vectors, packed


def keys_of(count: int) -> list[str]:
    """In no order."""
    return [hashlib.sha256(str(n).encode()).hexdigest() for n in range(count)]


def unit_vectors(count: int, dimension: int, seed: int) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def repeated(count: int, dimension: int, seed: int, *, copies: int) -> Vectors:
    """Each vector about so many times, in no order."""
    distinct = unit_vectors(1 + count // copies, dimension, seed)
    return distinct[np.random.default_rng(seed).integers(0, len(distinct), count)]


def make_store(
    folder: Path, vectors: Vectors, *, cuts: Sequence[int] = (), dtype: str = "float32"
) -> VectorStore:
    """The vectors of keys_of, cut into shards before these places."""
    identity = Identity("made up", "f", "mean", "QQ", vectors.shape[1], "fp32", dtype)
    keys = packed(keys_of(len(vectors)))
    edges = sorted({0, *cuts, len(vectors)})
    shards = [
        write_shard(folder, identity, keys[first:last], vectors[first:last])
        for first, last in pairwise(edges)
    ]
    return VectorStore(folder, identity, shards)


def brute_force(
    store: VectorStore, queries: Vectors, k: int, excluded: Mask
) -> tuple[list[list[int]], list[list[float]]]:
    """By one float at a time: positions and scores."""
    rows = store.rows(np.arange(len(store))).tolist()
    keys = [bytes(key).ljust(32, b"\0") for key in store.keys]
    positions, scores = [], []
    for query in queries.tolist():
        cosines = [
            min(1.0, max(-1.0, round(sum(a * b for a, b in zip(row, query, strict=True)), 6)))
            for row in rows
        ]
        allowed = [at for at in range(len(rows)) if not excluded[at]]
        best = sorted(allowed, key=lambda at: (-cosines[at], keys[at]))[:k]
        positions.append(best)
        scores.append([cosines[at] for at in best])
    return positions, scores


def no_mask(store: VectorStore) -> Mask:
    return np.zeros(len(store), np.bool_)


def true_scores(store: VectorStore, queries: Vectors, positions: Positions) -> Vectors:
    """Of rows found, in double precision; -inf where there is none."""
    rows = store.rows(np.maximum(positions, 0).ravel()).astype(np.float64)
    products = (rows.reshape(*positions.shape, -1) * queries[:, None].astype(np.float64)).sum(2)
    return np.where(positions < 0, -np.inf, products)
