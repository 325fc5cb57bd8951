"""Lists of rows around centres (FAISS IVF) over codes of 8 bits a number; small and soon built.

About 392 bytes a row of 384 numbers.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import faiss
import numpy as np

from retrieval.index.approximate.faiss_index import FaissIndex, number
from retrieval.index.tuning import SEED, sample
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Vectors

MOST_LISTS = 8_192
TRAINED_ON = 50  # rows a list
ROUNDS = 10  # of k-means


class IvfIndex(FaissIndex):
    kind: ClassVar[str] = "ivf"
    faiss_class: ClassVar[type] = faiss.IndexIVFScalarQuantizer
    tuned: ClassVar[str] = "probes"
    most_probes: ClassVar[int] = MOST_LISTS

    @classmethod
    def _trained(
        cls, store: VectorStore, parameters: Mapping[str, object]
    ) -> tuple[Any, dict[str, object]]:
        lists = int(number(parameters, "lists", lists_for(len(store))))
        dimension = store.identity.dimension
        index = faiss.IndexIVFScalarQuantizer(
            faiss.IndexFlatIP(dimension),
            dimension,
            lists,
            faiss.ScalarQuantizer.QT_8bit,
            faiss.METRIC_INNER_PRODUCT,
        )
        index.cp.seed, index.cp.niter, index.cp.spherical = SEED, ROUNDS, True
        index.cp.min_points_per_centroid = 1  # it would warn of few rows on stderr
        cls._train(index, store.rows(sample(store, TRAINED_ON * lists)))
        return index, {"lists": lists}

    @classmethod
    def _train(cls, index: Any, rows: Vectors) -> None:
        index.train(rows)

    def _values(self) -> Sequence[int]:
        """Each about a third more than the one before, up to half of the lists."""
        most = max(1, min(self.most_probes, self._index.nlist // 2))
        steps = np.unique(np.rint(1.33 ** np.arange(64)).astype(int))
        return [*steps[steps < most].tolist(), most]

    def _params(self, selector: Any, value: int) -> Any:
        return faiss.SearchParametersIVF(nprobe=value, sel=selector)


def lists_for(rows: int) -> int:
    """FAISS advises 4 to 16 times the root of the rows; choosing among lists takes time as well."""
    return max(1, min(MOST_LISTS, rows // TRAINED_ON, int(4 * rows**0.5)))
