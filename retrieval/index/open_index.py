"""An index in use: its vectors, the adapter that searches them, and what no search may find."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from retrieval.index.exact.exact import ExactIndex
from retrieval.index.lazy import index_class
from retrieval.index.port import VectorIndex
from retrieval.index.rescore import Scores, nearest
from retrieval.index.versions import folder_of, index_root, left_pairs, living_pairs
from retrieval.models import IndexVersion, QaPair
from retrieval.vectors.folder import REMOVED, open_version_store
from retrieval.vectors.pair_keys import LOOKUP, withdrawn_keys
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, PairKeys, Positions, Vectors, packed


@dataclass(frozen=True)
class OpenIndex:
    store: VectorStore
    index: VectorIndex
    removed: Positions  # rows of pairs that are not, or no longer, in the database
    version: IndexVersion

    def excluded(self, question_keys: Sequence[str] = ()) -> Mask:
        """Rows that no search may find: removed, withdrawn, of a source that
        has left the corpus, or of one of these questions."""
        excluded = np.zeros(len(self.store), np.bool_)
        excluded[self.removed] = True
        for keys in (withdrawn_keys(), left_pairs(self.version), held_out_keys(question_keys)):
            positions = self.store.positions_of(keys)
            excluded[positions[positions >= 0]] = True
        excluded.flags.writeable = False  # an index keeps what it made of an array that stays
        return excluded

    def pairs_not_indexed(self, excluded: Mask) -> int:
        """How many that its corpus has now it lacks; `excluded` without any question."""
        searchable = len(excluded) - int(np.count_nonzero(excluded))
        return max(0, living_pairs(self.version.corpus) - searchable)

    def exactly(self) -> "OpenIndex":
        """Searched by comparing every row."""
        return replace(self, index=ExactIndex(self.store))

    def trusted(self) -> "OpenIndex":
        """Searched exactly once it has found less than it was built for, of any query set."""
        missed = self.version.query_sets.filter(retrieval__searched="exact")
        return self.exactly() if not self.index.exact and missed.exists() else self

    def search(self, queries: Vectors, k: int, excluded: Mask) -> tuple[Positions, Scores]:
        return nearest(self.index, self.store, queries, k, excluded)


def open_index(version: IndexVersion) -> OpenIndex:
    """Of a version whose files have been verified."""
    folder, manifest = folder_of(version), version.manifest
    store = open_version_store(index_root(), manifest)
    index = index_class(version.kind).load(folder, store, manifest["parameters"])
    return OpenIndex(store, index, np.load(folder / REMOVED, allow_pickle=False), version)


def held_out_keys(question_keys: Sequence[str]) -> PairKeys:
    """Of all pairs with one of these questions."""
    keys: list[str] = []
    for start in range(0, len(question_keys), LOOKUP):
        pairs = QaPair.objects.filter(question_key__in=question_keys[start : start + LOOKUP])
        keys += pairs.values_list("pair_key", flat=True)
    return packed(keys)
