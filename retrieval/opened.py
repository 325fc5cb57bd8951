"""An index in use: its vectors, the adapter that searches them, and what no search may find."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from retrieval.index.port import VectorIndex
from retrieval.index.settle import Scores, nearest
from retrieval.lazy import index_class
from retrieval.models import IndexVersion, QaPair
from retrieval.store.folder import REMOVED, open_version_store
from retrieval.store.store import VectorStore
from retrieval.vectors import Mask, Positions, Vectors
from retrieval.versions import folder_of, index_root

LOOKUP = 2_000  # keys in one database query


@dataclass(frozen=True)
class OpenIndex:
    store: VectorStore
    index: VectorIndex
    removed: Positions  # rows of pairs that are not, or no longer, in the database

    def excluded(self, question_keys: Sequence[str] = ()) -> Mask:
        """Rows that no search may find: removed, withdrawn, or of one of these questions."""
        excluded = np.zeros(len(self.store), np.bool_)
        excluded[self.removed] = True
        for keys in (withdrawn_keys(), held_out_keys(question_keys)):
            positions = self.store.positions(list(keys))
            excluded[positions[positions >= 0]] = True
        return excluded

    def search(self, queries: Vectors, k: int, excluded: Mask) -> tuple[Positions, Scores]:
        return nearest(self.index, self.store, queries, k, excluded)


def open_index(version: IndexVersion) -> OpenIndex:
    """Of a version whose files have been verified."""
    folder, manifest = folder_of(version), version.manifest
    store = open_version_store(index_root(), manifest)
    index = index_class(version.kind).load(folder, store, manifest["parameters"])
    return OpenIndex(store, index, np.load(folder / REMOVED, allow_pickle=False))


def withdrawn_keys() -> Iterator[str]:
    rows = QaPair.objects.filter(withdrawn_at__isnull=False)
    return rows.values_list("pair_key", flat=True).iterator()


def held_out_keys(question_keys: Sequence[str]) -> Iterator[str]:
    """Of all pairs with one of these questions."""
    for start in range(0, len(question_keys), LOOKUP):
        pairs = QaPair.objects.filter(question_key__in=question_keys[start : start + LOOKUP])
        yield from pairs.values_list("pair_key", flat=True).iterator()
