"""Vectors like those of texts: of length 1, in clusters of unlike sizes."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from retrieval.vectors.shards import Identity, write_shard
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Vectors

CLUSTERED = 0.6  # how much of a vector is its cluster's
CLUSTERS = 2000
SHARD_PAIRS = 16_384


def clustered(count: int, dimension: int, seed: int) -> Vectors:
    rng = np.random.default_rng(seed)
    centres = unit(np.random.default_rng(0).normal(size=(CLUSTERS, dimension)))
    drawn = np.minimum(rng.zipf(1.3, count), CLUSTERS) - 1
    own = unit(rng.standard_normal((count, dimension), np.float32))
    own += centres[drawn] * np.float32(CLUSTERED / (1 - CLUSTERED))
    return unit(own)


def unit(vectors: np.ndarray) -> Vectors:
    whole: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return whole


def store_of(folder: Path, parts: Iterable[Vectors], dimension: int, dtype: str) -> VectorStore:
    """With keys that are drawn, in order within a shard: the rows stay in the order given."""
    rng = np.random.default_rng(1)
    identity = Identity("made", "f", "mean", "QQ", dimension, "fp32", dtype)
    shards = []
    for part in parts:
        for start in range(0, len(part), SHARD_PAIRS):
            rows = part[start : start + SHARD_PAIRS]
            keys = np.sort(np.frombuffer(rng.bytes(32 * len(rows)), "S32"))
            shards.append(write_shard(folder, identity, keys, rows))
    return VectorStore(folder, identity, shards)
