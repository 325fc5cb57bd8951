"""Every row compared, on the CPU; straight from the store's memory maps, nothing is copied."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from retrieval.index.exact.scan import scan
from retrieval.index.port import Neighbours
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, Positions, Vectors


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

    def search(self, queries: Vectors, width: int, excluded: Mask) -> Neighbours:
        return scan(self._store, queries, width, excluded | self._removed)

    def save(self, folder: Path) -> None:
        """The store is all it needs."""

    @classmethod
    def load(cls, folder: Path, store: VectorStore, parameters: Mapping[str, object]) -> Self:
        return cls(store)
