"""Every row compared, on the CPU: a matrix product a shard and the best of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from retrieval.index.port import Found
from retrieval.store.store import VectorStore
from retrieval.vectors import Mask, Positions, Vectors


class ExactIndex:
    kind: ClassVar[str] = "exact"
    exact: ClassVar[bool] = True
    parameters: Mapping[str, object] = {}

    def __init__(self, store: VectorStore) -> None:
        self._store = store
        self._removed = np.zeros(len(store), np.bool_)

    @classmethod
    def build(cls, store: VectorStore, parameters: Mapping[str, object]) -> Self:
        return cls(store)

    def add(self, store: VectorStore) -> None:
        more = np.zeros(len(store) - len(self._store), np.bool_)
        self._store, self._removed = store, np.concatenate([self._removed, more])

    def remove(self, positions: Positions) -> None:
        self._removed[positions] = True

    def search(self, queries: Vectors, width: int, excluded: Mask) -> Found:
        left_out = excluded | self._removed
        positions = np.full((len(queries), width), -1, np.int64)
        scores = np.full((len(queries), width), -np.inf, np.float32)
        for start, block in self._store.blocks():
            here = queries @ block.astype(np.float32).T  # queries x rows of the block
            here[:, left_out[start : start + len(block)]] = -np.inf
            at = np.broadcast_to(np.arange(start, start + len(block)), here.shape)
            merged = np.concatenate([scores, here], axis=1)
            places = np.concatenate([positions, at], axis=1)
            best = np.argsort(-merged, axis=1, kind="stable")[:, :width]
            scores = np.take_along_axis(merged, best, axis=1)
            positions = np.take_along_axis(places, best, axis=1)
        return Found(np.where(np.isneginf(scores), -1, positions), scores)

    def save(self, folder: Path) -> None:
        """The store is all it needs."""

    @classmethod
    def load(cls, folder: Path, store: VectorStore, parameters: Mapping[str, object]) -> Self:
        return cls(store)
