"""The vectors of a database in shards, each row at a position; memory-mapped."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from retrieval.store.shards import Identity, Shard, read_shard
from retrieval.vectors import PairKeys, Positions, Stored, Vectors, packed


class VectorStore:
    """Some complete shards of one folder, one after the other. Positions count through them."""

    def __init__(self, folder: Path, identity: Identity, shards: Sequence[Shard]) -> None:
        self.identity = identity
        self.shards = tuple(shards)
        parts = [read_shard(folder, shard) for shard in self.shards]
        self._starts = np.cumsum([0, *(shard.pairs for shard in self.shards)])
        self._vectors = [vectors for _, vectors in parts]
        self.keys: PairKeys = (
            np.concatenate([keys for keys, _ in parts]) if parts else np.zeros(0, "S32")
        )
        self._order = np.argsort(self.keys)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def positions(self, keys: Sequence[str]) -> Positions:
        """Of the pairs with these hexadecimal keys; -1 for a pair that the store does not hold."""
        return self.positions_of(packed(keys))

    def positions_of(self, keys: PairKeys) -> Positions:
        if not len(self):
            return np.full(len(keys), -1, np.int64)
        at = np.searchsorted(self.keys, keys, sorter=self._order)
        found = self._order[np.minimum(at, len(self) - 1)]
        return np.where(self.keys[found] == keys, found, -1)

    def rows(self, positions: Positions) -> Vectors:
        """A copy of these rows in float32, in their order."""
        rows = np.empty((len(positions), self.identity.dimension), np.float32)
        shards = np.searchsorted(self._starts, positions, side="right") - 1
        for shard in np.unique(shards):
            here = shards == shard
            rows[here] = self._vectors[shard][positions[here] - self._starts[shard]]
        return rows

    def blocks(self, first: int = 0) -> Iterator[tuple[int, Stored]]:
        """Start and rows, as stored, shard by shard from position `first` on."""
        for start, vectors in zip(self._starts[:-1].tolist(), self._vectors, strict=True):
            if start + len(vectors) > first:
                skip = max(0, first - start)
                yield start + skip, vectors[skip:]
