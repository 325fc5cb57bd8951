"""Small shards whose vectors are known by their pairs."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from retrieval.vectors.shards import Identity, Shard, write_shard
from retrieval.vectors.types import PairKeys, Vectors, packed

IDENTITY = Identity("keywords", "f" * 64, "mean", "QQ", 5, "fp32", "float32")


def keys_of(numbers: Iterable[int]) -> PairKeys:
    return packed([hashlib.sha256(str(number).encode()).hexdigest() for number in numbers])


def vectors_of(numbers: Iterable[int]) -> Vectors:
    """Each pair's own, the same in every process; exact in float16, too."""
    rows = [np.random.default_rng(number).integers(-99, 99, 5) / 64 for number in numbers]
    return np.array(rows, np.float32).reshape(-1, 5)


def shard_of_pairs(folder: Path, numbers: Iterable[int], identity: Identity = IDENTITY) -> Shard:
    numbers = list(numbers)
    folder.mkdir(parents=True, exist_ok=True)
    return write_shard(folder, identity, keys_of(numbers), vectors_of(numbers))
