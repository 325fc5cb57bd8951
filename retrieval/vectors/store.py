"""The vectors of a database in shards, each row at a position; memory-mapped."""

import itertools
import resource
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retrieval.vectors.shards import Identity, Shard, read_keys, read_vectors
from retrieval.vectors.types import PairKeys, Positions, Stored, Vectors, packed


class VectorStore:
    """Some complete shards of one folder, one after the other. Positions count through them."""

    def __init__(self, folder: Path, identity: Identity, shards: Sequence[Shard]) -> None:
        self.identity = identity
        self.shards = tuple(shards)
        _allow_files(len(self.shards))
        self._starts = np.cumsum([0, *(shard.pairs for shard in self.shards)])
        self._vectors = [read_vectors(folder, identity, shard) for shard in self.shards]
        keys = [read_keys(folder, shard) for shard in self.shards]
        self.keys: PairKeys = np.concatenate(keys) if keys else np.zeros(0, "S32")

    def __len__(self) -> int:
        return int(self._starts[-1])

    def positions(self, keys: Sequence[str]) -> Positions:
        """Of the pairs with these hexadecimal keys; -1 for a pair that the store does not hold."""
        return self.positions_of(packed(keys))

    def positions_of(self, keys: PairKeys) -> Positions:
        """The first, of a pair that several rows stand for."""
        positions = np.full(len(keys), -1, np.int64)
        wanted = _first_bytes(keys)
        sorted_bytes, order = self._by_first_bytes
        at = np.searchsorted(sorted_bytes, wanted)
        pending = np.arange(len(keys))
        # Nearly always once: of different keys hardly two begin with the same eight bytes.
        while (pending := pending[at[pending] < len(order)]).size:
            pending = pending[sorted_bytes[at[pending]] == wanted[pending]]
            here = order[at[pending]]
            same = self.keys[here] == keys[pending]
            positions[pending[same]] = here[same]
            pending = pending[~same]
            at[pending] += 1
        return positions

    def rows(self, positions: Positions) -> Vectors:
        """A copy of these rows in float32, in their order."""
        order = np.argsort(positions, kind="stable")
        sorted_positions = positions[order]
        ends = np.searchsorted(sorted_positions, self._starts).tolist()
        shape = len(positions), self.identity.dimension
        vectors = np.empty(shape, self.identity.dtype)
        for shard, (start, end) in enumerate(itertools.pairwise(ends)):
            if start < end:
                inside = sorted_positions[start:end] - self._starts[shard]
                # No position is outside; to look for one costs a copy.
                self._vectors[shard].take(inside, axis=0, out=vectors[start:end], mode="clip")
        rows = np.empty(shape, np.float32)
        rows[order] = vectors
        return rows

    def blocks(self, first: int = 0) -> Iterator[tuple[int, Stored]]:
        """Start and rows, as stored, shard by shard from position `first` on."""
        for start, vectors in zip(self._starts[:-1].tolist(), self._vectors, strict=True):
            if start + len(vectors) > first:
                skip = max(0, first - start)
                yield start + skip, vectors[skip:]

    @cached_property
    def _by_first_bytes(self) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """The rows' first bytes in order, and their positions: 12 bytes a row.

        Whole keys take four times as long to sort. Equal ones stay in the order of the positions.
        """
        first = _first_bytes(self.keys)
        order = np.argsort(first, kind="stable").astype(np.int32)
        return first[order], order


def _allow_files(count: int) -> None:
    """Each shard that is mapped keeps a file open, and the usual limit is 1,024."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Several stores are open while an index grows.
    wanted = 256 + 4 * count
    if limit < wanted:
        allowed = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(limit, allowed), most))


def _first_bytes(keys: PairKeys) -> NDArray[np.uint64]:
    """Eight of each key, as a number: they sort as the keys do."""
    return np.ascontiguousarray(keys).view(">u8")[::4].astype(np.uint64)
