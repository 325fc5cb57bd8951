"""An index grown from the one of the version before, where little has changed since."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.errors import UserError
from retrieval.index.choice import Choice
from retrieval.index.lazy import index_class
from retrieval.index.open_index import open_index
from retrieval.index.port import VectorIndex
from retrieval.index.recall import Recall
from retrieval.index.versions import folder_of, index_root
from retrieval.indexing.coverage import Coverage, cover
from retrieval.models import IndexVersion
from retrieval.models.index import ENGINES
from retrieval.vectors.folder import REMOVED, shards_of, verify
from retrieval.vectors.shards import Shard, names
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, PairKeys

# Of the rows that it was built over: added or removed since. A graph that grows from a few rows is
# a worse one, and rows that are removed may stay in it.
MOST_CHANGED = 0.2


def ground(
    folder: Path, sound: list[Shard], keys: PairKeys, before: IndexVersion | None, kind: str
) -> tuple[Coverage, IndexVersion | None]:
    """The rows that an index of this kind will lie over, and the version that it can grow from.

    `before`: the newest version of this store. Its shards come first, in their order.
    """
    if before is None:
        return cover(folder, sound, keys), None
    there = set(names(sound))
    first = shards_of(before.manifest)
    if _can_grow(before, kind) and set(names(first)) <= there:
        coverage = cover(folder, sound, keys, first=first, whole=True)
        if _little_changed(before, coverage):
            return coverage, before
    first = [shard for shard in first if shard.name in there]
    return cover(folder, sound, keys, first=first), None


@dataclass(frozen=True)
class MadeIndex:
    index: VectorIndex
    recall: Recall | None  # None: it is exact
    built_over: dict[str, int]  # before it grew

    def finds(self, wanted: float) -> bool:
        return self.recall is None or self.recall.value >= wanted


def make_index(
    choice: Choice,
    store: VectorStore,
    removed: Mask,
    before: IndexVersion | None,
    measure: Callable[[VectorIndex], Recall],
    wanted: float,
) -> MadeIndex:
    """Grown where it can be and is still good enough, else built."""
    if before is not None:
        made = _measured(extended(before, store, removed), before.manifest["built_over"], measure)
        if made.finds(wanted):
            return made
    index = index_class(choice.kind).build(store, choice.parameters)
    index.remove(np.flatnonzero(removed))
    return _measured(index, {"rows": len(store), "removed": int(removed.sum())}, measure)


def _measured(
    index: VectorIndex, built_over: dict[str, int], measure: Callable[[VectorIndex], Recall]
) -> MadeIndex:
    return MadeIndex(index, None if index.exact else measure(index), built_over)


def extended(before: IndexVersion, store: VectorStore, removed: Mask) -> VectorIndex:
    index = open_index(before).index
    if store.shards != tuple(shards_of(before.manifest)):
        index.add(store)
    index.remove(np.flatnonzero(removed))
    return index


def is_whole(index: IndexVersion) -> bool:
    try:
        verify(index_root(), index.path, index.manifest)
        if index.kind in ENGINES:  # not all of it is files
            open_index(index)
    except UserError:
        return False
    return True


def _can_grow(before: IndexVersion, kind: str) -> bool:
    """An exact index has nothing of its own that would have to grow."""
    return before.kind == kind and not index_class(kind).exact and is_whole(before)


def _little_changed(before: IndexVersion, coverage: Coverage) -> bool:
    """Of a pair that was removed and is back the index knows nothing more."""
    gone = np.load(folder_of(before) / REMOVED, allow_pickle=False)
    built = before.manifest["built_over"]
    added = len(coverage.removed) + len(coverage.missing) - built["rows"]
    removed = int(coverage.removed.sum()) - built["removed"]
    return bool(coverage.removed[gone].all()) and added + removed <= MOST_CHANGED * built["rows"]
