"""What the adapters share whose rows lie in an engine of its own: a table of positions and vectors.

A table is named after its content: versions over the same shards share it, and others never meet
in it. What a version removed, it excludes from its searches.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from retrieval.index.port import Neighbours
from retrieval.index.tuning import RECALL, tune
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, Positions, Vectors

# Links of a row (twice as many at the bottom), and how many rows are looked at to choose them.
GRAPH = {"m": 16, "ef_construction": 100}
TUNING_VALUES = (70, 100, 140, 200, 280, 400, 560, 800, 1000)

Shards = list[tuple[str, int]]  # names, which are made of the content, and numbers of rows


class EngineIndex(ABC):
    kind: ClassVar[str]
    exact: ClassVar[bool] = False
    tuned: ClassVar[str] = "ef_search"  # the parameter that buys recall with time
    prefix: ClassVar[str]  # of the names of its tables
    results_per_call: ClassVar[int]

    def __init__(self, store: VectorStore, parameters: Mapping[str, object]) -> None:
        self.parameters = parameters
        self._store = store
        self._removed = np.zeros(len(store), np.bool_)
        self._left_out: Mask | None = None  # what `_exclude` was told last

    @classmethod
    def build(cls, store: VectorStore, parameters: Mapping[str, object]) -> Self:
        """`parameters` may hold `recall`, and what is chosen here otherwise."""
        given = {name: value for name, value in parameters.items() if name != "recall"}
        index = cls(store, GRAPH | given)
        index._new_table()
        if cls.tuned not in given:
            wanted = float(str(parameters.get("recall", RECALL)))
            tune(index, store, values=TUNING_VALUES, take=index._take, wanted=wanted)
        return index

    def add(self, store: VectorStore) -> None:
        more = np.zeros(len(store) - len(self._store), np.bool_)
        self._store, self._removed = store, np.concatenate([self._removed, more])
        self._left_out = None
        self._grow()

    def remove(self, positions: Positions) -> None:
        self._removed[positions] = True

    def search(self, queries: Vectors, width: int, excluded: Mask) -> Neighbours:
        """Fewer than there are where the graph, or a scan of it, does not reach them."""
        left_out = excluded | self._removed
        # Told once for many searches: it is most often the same.
        if self._left_out is None or not np.array_equal(left_out, self._left_out):
            self._exclude(left_out)
            self._left_out = left_out
        positions = np.full((len(queries), width), -1, np.int64)
        scores = np.full((len(queries), width), -np.inf, np.float32)
        step = max(1, self.results_per_call // max(1, width))
        for start in range(0, len(queries), step):
            part = slice(start, start + step)
            self._nearest(queries[part], width, positions[part], scores[part])
        return Neighbours(positions, scores)

    def save(self, folder: Path) -> None:
        shards = "\n".join(name for name, _ in shards_of(self._store))
        record = {
            "table": self._full_name(),
            "rows": len(self._store),
            "shards_sha256": hashlib.sha256(shards.encode()).hexdigest(),
        }
        text = json.dumps(record, indent=2, sort_keys=True) + "\n"
        (folder / f"{self.kind}.json").write_text(text)

    @classmethod
    def load(cls, folder: Path, store: VectorStore, parameters: Mapping[str, object]) -> Self:
        index = cls(store, parameters)
        index._require_rows()
        return index

    @classmethod
    @abstractmethod
    def drop(cls, tables: set[str]) -> None:
        """Those that no kept version names: others may be of another project in the same engine."""

    @abstractmethod
    def _fill(self) -> None:
        """Load what the table lacks of the store, and index it; made where there is none."""

    def _grow(self) -> None:
        """As `_fill`, where the store is that of before with shards more at its end."""
        self._new_table()

    @abstractmethod
    def _require_rows(self) -> None:
        """Refuse, by name, a table that is gone, incomplete, or of other shards."""

    @abstractmethod
    def _exclude(self, left_out: Mask) -> None:
        """From the searches that follow."""

    @abstractmethod
    def _nearest(
        self, queries: Vectors, width: int, positions: Positions, scores: NDArray[np.float32]
    ) -> None:
        """Fill the positions and scores of these queries."""

    @property
    def _table(self) -> str:
        return str(self.parameters["table"])

    def _full_name(self) -> str:
        return self._table

    def _options(self) -> str:
        return ", ".join(f"{name} = {int(str(self.parameters[name]))}" for name in GRAPH)

    def _effort(self, width: int) -> int:
        """A graph gives at most as many rows as it looks at."""
        return max(width, int(str(self.parameters[self.tuned])))

    def _take(self, value: int) -> None:
        self.parameters = {**self.parameters, self.tuned: value}

    def _new_table(self) -> None:
        """Of the same name for the same shards and options: a killed build's is met again."""
        content = [asdict(self._store.identity), shards_of(self._store), self._options()]
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        self.parameters = {**self.parameters, "table": f"{self.prefix}{digest[:24]}"}
        self._fill()


def shards_of(store: VectorStore) -> Shards:
    return [(shard.name, shard.pairs) for shard in store.shards]
